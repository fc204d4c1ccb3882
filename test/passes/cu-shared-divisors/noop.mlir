// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-shared-divisors -split-input-file %s -o %t.after && diff %t.before %t.after

// Few quotients; a divisor that changes; a constant; a loop that is not unrolled; one that the loop writes.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}, {source = 2 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %d: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloca() : memref<8xf32, 5>
  %q = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %a[%c0] count 8 : memref<?xf32, 1> to memref<8xf32, 5>
  %ten = arith.constant 10.0 : f32
  %s = memref.load %d[%c0] : memref<?xf32, 1>
  scf.for %i = %c0 to %c2 step %c1 {
    %v = memref.load %a[%i] : memref<8xf32, 5>
    %r = arith.divf %v, %s : f32
    memref.store %r, %q[%i] : memref<8xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %a[%i] : memref<8xf32, 5>
    %w = memref.load %d[%i] : memref<?xf32, 1>
    %r = arith.divf %v, %w : f32
    %t = arith.divf %r, %ten : f32
    memref.store %t, %q[%i] : memref<8xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %a[%i] : memref<8xf32, 5>
    %r = arith.divf %v, %s : f32
    memref.store %r, %q[%i] : memref<8xf32, 5>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %a[%i] : memref<8xf32, 5>
    %w = memref.load %q[%c0] : memref<8xf32, 5>
    %r = arith.divf %v, %w : f32
    memref.store %r, %q[%i] : memref<8xf32, 5>
  } {cu.unroll}
  cu.copy %q[%c0] to %y[%c0] count 8 : memref<8xf32, 5> to memref<?xf32, 1>
}

// -----

// Threads that exchange must not go apart.
cu.kernel @exchange attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}, {source = 2 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %d: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloca() : memref<8xf32, 5>
  %q = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %a[%c0] count 8 : memref<?xf32, 1> to memref<8xf32, 5>
  %s = memref.load %d[%c0] : memref<?xf32, 1>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %a[%i] : memref<8xf32, 5>
    %o = cu.shuffle_xor %v, 1 shl %i : f32
    %r = arith.divf %o, %s : f32
    memref.store %r, %q[%i] : memref<8xf32, 5>
  } {cu.unroll}
  cu.copy %q[%c0] to %y[%c0] count 8 : memref<8xf32, 5> to memref<?xf32, 1>
}

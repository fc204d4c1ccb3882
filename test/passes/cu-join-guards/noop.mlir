// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-join-guards -split-input-file %s -o %t.after && diff %t.before %t.after

// Zeros are added up where the condition does not hold.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %r = memref.alloca() : memref<4xf32, 5>
  %sum = memref.alloca() : memref<1xf32, 5>
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  %v = memref.load %r[%c0] : memref<4xf32, 5>
  memref.store %v, %sum[%c0] : memref<1xf32, 5>
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  %s = memref.load %sum[%c0] : memref<1xf32, 5>
  memref.store %s, %y[%c0] : memref<?xf32, 1>
}

// -----

// Few.
cu.kernel @few attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

// Two conditions.
cu.kernel @conditions attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %other = arith.cmpi slt, %i, %c4 : index
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %other { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

// Threads hand values to each other, and wait for each other.
cu.kernel @shuffle attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %r = memref.alloca() : memref<4xf32, 5>
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  %v = memref.load %r[%c0] : memref<4xf32, 5>
  %w = cu.shuffle_xor %v, 1 : f32
  memref.store %w, %r[%c0] : memref<4xf32, 5>
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

cu.kernel @barrier attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  cu.sync
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

// A store that does not depend on the condition.
cu.kernel @stores attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %r = memref.alloca() : memref<4xf32, 5>
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  memref.store %zero, %y[%i] : memref<?xf32, 1>
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

// An array that goes on from round to round.
cu.kernel @carried attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %r = memref.alloca() : memref<4xf32, 5>
  scf.for %round = %c0 to %c4 step %c1 {
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  scf.if %inside { cu.copy %r[%c0] to %y[%i] count 4 : memref<4xf32, 5> to memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  }
}

// RUN: kernelc-opt --cu-shared-divisors -split-input-file %s | FileCheck %s

// An element of an array that the loops do not change, read ahead of them; the outer of two loops is doubled, with both of its quotients.
// CHECK-LABEL: cu.kernel @nested
// CHECK: memref.store %{{.*}}, %[[ARRAY:.*]][%c0] : memref<1xf32, 5>
// CHECK: %[[S:.*]] = memref.load %[[ARRAY]][%c0] : memref<1xf32, 5>
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK: arith.divf %{{.*}}, %[[S]] fastmath<arcp> : f32
// CHECK: arith.divf %{{.*}}, %[[S]] fastmath<arcp> : f32
// CHECK: } else {
// CHECK-NOT: fastmath
cu.kernel @nested attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}, {source = 2 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %d: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloca() : memref<8xf32, 5>
  %q = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %a[%c0] count 8 : memref<?xf32, 1> to memref<8xf32, 5>
  %f = memref.alloca() : memref<1xf32, 5>
  %n = memref.load %d[%c0] : memref<?xf32, 1>
  memref.store %n, %f[%c0] : memref<1xf32, 5>
  scf.for %j = %c0 to %c2 step %c1 {
    scf.for %i = %c0 to %c2 step %c1 {
      %at = arith.addi %i, %j : index
      %v = memref.load %a[%at] : memref<8xf32, 5>
      %s = memref.load %f[%c0] : memref<1xf32, 5>
      %r = arith.divf %v, %s : f32
      %t = memref.load %f[%c0] : memref<1xf32, 5>
      %u = arith.divf %r, %t : f32
      memref.store %u, %q[%at] : memref<8xf32, 5>
    } {cu.unroll}
  } {cu.unroll}
  cu.copy %q[%c0] to %y[%c0] count 8 : memref<8xf32, 5> to memref<?xf32, 1>
}

// -----

// A divisor of each row: the loop over its elements is doubled, in the loop over rows.
// CHECK-LABEL: cu.kernel @rows
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK: fastmath<arcp>
// CHECK: } else {
cu.kernel @rows attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}, {source = 2 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %d: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloca() : memref<8xf32, 5>
  %q = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %a[%c0] count 8 : memref<?xf32, 1> to memref<8xf32, 5>
  scf.for %j = %c0 to %c2 step %c1 {
    %s = memref.load %d[%j] : memref<?xf32, 1>
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %a[%i] : memref<8xf32, 5>
      %r = arith.divf %v, %s : f32
      memref.store %r, %q[%i] : memref<8xf32, 5>
    } {cu.unroll}
  } {cu.unroll}
  cu.copy %q[%c0] to %y[%c0] count 8 : memref<8xf32, 5> to memref<?xf32, 1>
}

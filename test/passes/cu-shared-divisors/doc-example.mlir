// RUN: kernelc-opt --cu-shared-divisors %s | FileCheck %s

// The example of the pass's description.
// CHECK: %[[S:.*]] = memref.load %arg1
// CHECK: %[[LEAST:.*]] = arith.cmpf oge, %[[S]], %{{.*}} : f32
// CHECK: %[[MOST:.*]] = arith.cmpf ole, %[[S]], %{{.*}} : f32
// CHECK: %[[INSIDE:.*]] = arith.andi %[[LEAST]], %[[MOST]] : i1
// CHECK: scf.if %[[INSIDE]] {
// CHECK: arith.divf %{{.*}}, %[[S]] fastmath<arcp> : f32
// CHECK: } else {
// CHECK: arith.divf %{{.*}}, %[[S]] : f32
cu.kernel @quotients attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}, {source = 2 : i64, shape = affine_map<() -> (64)>}],
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
    %r = arith.divf %v, %s : f32
    memref.store %r, %q[%i] : memref<8xf32, 5>
  } {cu.unroll}
  cu.copy %q[%c0] to %y[%c0] count 8 : memref<8xf32, 5> to memref<?xf32, 1>
}

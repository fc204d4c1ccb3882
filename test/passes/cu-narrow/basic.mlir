// RUN: kernelc-opt --cu-narrow %s | FileCheck %s

// CHECK-LABEL: cu.kernel @loops
// CHECK: memref.store
// CHECK: } {cu.narrow}
// CHECK: memref.store
// The variable would step beyond 32 bits to end the loop.
// CHECK: }
// CHECK-NOT: cu.narrow
cu.kernel @loops attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (1)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %much = arith.constant 2000000000 : index
  %more = arith.constant 2000000001 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c8 {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  }
  scf.for %i = %c0 to %more step %much {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  }
}

// Remainders, exclusive or, shares of a warp: in shared memory all is small.
// CHECK-LABEL: cu.kernel @swizzle
// CHECK-COUNT-5: {cu.narrow} : index
// CHECK: arith.remsi %{{.*}}, %{{.*}} {cu.narrow} : index
// CHECK: arith.divsi %{{[^ ]*}}, %{{[^ ]*}} : index
cu.kernel @swizzle attributes {sizes = ["N"], arg_sources = [{size = 0 : i64}], grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 0 : i64} {
^bb0(%n: index):
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %t = cu.thread_id
  %lane = arith.remsi %t, %c32 : index
  %warp = arith.divsi %t, %c32 : index
  %chunk = arith.xori %lane, %warp : index
  %at = arith.muli %chunk, %c8 : index
  %to = arith.addi %at, %c2 : index
  %rest = arith.remsi %n, %c8 : index
  %tiles = arith.divsi %n, %c8 : index
}

// A block for each of N elements of x, and behind them one for each of three of y.
// RUN: kernelc-opt --cu-join %s | FileCheck %s
cu.kernel @kc_k_x attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 128 : i64, schedule = "schedule: warps 1"} {
^bb0(%x: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  memref.store %v, %x[%b] : memref<?xf32, 1>
}
cu.kernel @kc_k_y attributes {sizes = ["N"], arg_sources = [{source = 1 : i64, shape = affine_map<()[s0] -> (3)>}],
    grid = affine_map<()[s0] -> (3)>, threads = 32 : i64, shared_bytes = 256 : i64, schedule = "schedule: warps 1", beside = 8 : i64} {
^bb0(%y: memref<?xf32, 1>):
  %v = arith.constant 2.0 : f32
  %b = cu.block_id
  memref.store %v, %y[%b] : memref<?xf32, 1>
}
// CHECK: cu.kernel @kc_k_x_y
// CHECK-SAME: arg_sources = [{shape = #{{.*}}, source = 0 : i64}, {shape = #{{.*}}, source = 1 : i64}, {size = 0 : i64}]
// CHECK-NOT: beside =
// CHECK-SAME: records = 2 : i64, schedule = "schedule: warps 1; beside it: warps 1", shared_bytes = 256 : i64
// CHECK: ^bb0(%[[X:.*]]: memref<?xf32, 1>, %[[Y:.*]]: memref<?xf32, 1>, %[[N:.*]]: index):
// CHECK: %[[BLOCK:.*]] = cu.block_id
// CHECK: %[[OWN:.*]] = arith.cmpi slt, %[[BLOCK]], %[[N]]
// CHECK: scf.if %[[OWN]] {
// CHECK: memref.store %{{.*}}, %[[X]][%[[BLOCK]]]
// CHECK: } else {
// CHECK: %[[REST:.*]] = arith.subi %[[BLOCK]], %[[N]]
// CHECK: memref.store %{{.*}}, %[[Y]][%[[REST]]]
// CHECK-NOT: cu.kernel

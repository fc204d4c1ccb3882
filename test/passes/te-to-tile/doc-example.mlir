// One launch of the plan becomes one block program: the grid's index is a multiple of
// its tile, each read a load of a box, the body elementwise code on tiles.
// RUN: kernelc-opt --te-to-tile --canonicalize %s | FileCheck %s
te.kernel @scale sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>,
    indices = ["i"], name = "y", ops = array<i64: 0>, tiles = array<i64: 1024>, unit = "simt", warps = 4 : i64}],
    size_div = array<i64: 4>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %two = arith.constant 2.0 : f32
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %w = arith.mulf %v, %two : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// CHECK: tile.func @kc_scale
// CHECK-SAME: grid_dims = array<i64: 0>, indices = ["i"]
// CHECK-SAME: tiles = array<i64: 1024>, warps = 4
// CHECK: ^bb0(%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>):
// CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<1024xf32>
// CHECK-DAG: %[[C:.*]] = arith.constant 1024 : index
// CHECK: %[[PID:.*]] = tile.program_id 0
// CHECK: %[[I0:.*]] = arith.muli %[[PID]], %[[C]] : index
// CHECK: %[[V:.*]] = tile.load %[[X]][%[[I0]]] map {{.*}} {mask = array<i64: 0>} : memref<?xf32> -> tensor<1024xf32>
// CHECK: %[[W:.*]] = arith.mulf %[[V]], %[[TWO]] : tensor<1024xf32>
// CHECK: tile.store %[[W]], %[[Y]][%[[I0]]]

// 1000 points in tiles of 256: three full rounds, whose loads and sums need no mask, and a last one.
// RUN: kernelc-opt --tile-peel-rounds %s | FileCheck %s
tile.func @row_sum attributes {arg_names = ["x", "y"], arg_shapes = [affine_map<()[s0] -> (s0, 1000)>, affine_map<()[s0] -> (s0)>],
    arg_types = ["f32", "f32"], extents = affine_map<()[s0] -> (s0, 1000)>, grid_dims = array<i64: 0>, indices = ["i", "j"],
    size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["M"], sources = array<i64: 0, 1>, tiles = array<i64: 1, 256>,
    peel = true, warps = 4 : i64, target = "sm_90a"} {
^bb0(%x: memref<?x?xf32>, %y: memref<?xf32>):
  %i = tile.program_id 0
  %none = arith.constant 0 : index
  %end = arith.constant 1000 : index
  %step = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : tensor<1x256xf32>
  %sums = scf.for %j = %none to %end step %step iter_args(%sum = %zero) -> (tensor<1x256xf32>) {
    %v = tile.load %x[%i, %j] map affine_map<(d0, d1)[s0] -> (d0, d1)> {mask = array<i64: 1>} : memref<?x?xf32> -> tensor<1x256xf32>
    %next = tile.combine sum %sum, %v : tensor<1x256xf32>, tensor<1x256xf32> -> tensor<1x256xf32>
    scf.yield %next : tensor<1x256xf32>
  }
  %s = tile.reduce sum %sums dims [1] : tensor<1x256xf32> -> tensor<1x1xf32>
  tile.store %s, %y[%i, %none] map affine_map<(d0, d1)[s0] -> (d0)> : tensor<1x1xf32>, memref<?xf32>
}
// CHECK: %[[FULL:.*]] = tile.apply #[[MAP:.*]]()
// CHECK: %[[SUMS:.*]] = scf.for %{{.*}} = %{{.*}} to %[[FULL]] step
// CHECK-NEXT: tile.load
// CHECK-NOT: mask
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} = %[[FULL]] to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[SUMS]])
// CHECK-NEXT: tile.load {{.*}}mask = array<i64: 1>
// CHECK: } {tile.last_round}
// CHECK: tile.reduce sum %[[ALL]]

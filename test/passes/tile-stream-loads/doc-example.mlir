// The matrix of a product with a vector is read once, the vector for each row.
// RUN: kernelc-opt --tile-stream-loads %s | FileCheck %s
tile.func @gemv attributes {arg_names = ["a", "x", "y"], arg_shapes = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s1)>,
    affine_map<()[s0, s1] -> (s0)>], arg_types = ["f32", "f32", "f32"], extents = affine_map<()[s0, s1] -> (s0, s1)>, grid_dims = array<i64: 0>,
    indices = ["i", "k"], size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, sizes = ["M", "K"], sources = array<i64: 0, 1, 2>,
    tiles = array<i64: 1, 1024>, warps = 4 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>):
  %i = tile.program_id 0
  %k = arith.constant 0 : index
  %row = tile.load %a[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (d0, d1)> {mask = array<i64: 1>} : memref<?x?xf32> -> tensor<1x1024xf32>
  %v = tile.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (d1)> {mask = array<i64: 1>} : memref<?xf32> -> tensor<1x1024xf32>
  %p = arith.mulf %row, %v : tensor<1x1024xf32>
  %s = tile.reduce sum %p dims [1] : tensor<1x1024xf32> -> tensor<1x1xf32>
  tile.store %s, %y[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (d0)> : tensor<1x1xf32>, memref<?xf32>
}
// CHECK: ^bb0(%[[A:.*]]: memref<?x?xf32>, %[[X:.*]]: memref<?xf32>, %
// CHECK: tile.load %[[A]]{{.*}}, streaming}
// CHECK: tile.load %[[X]]{{.*}} {mask = array<i64: 1>} :

// A row of 256 in each warp: registers hold vectors of four and one step of 128, lanes
// four neighbours each. The sum keeps what is not reduced: a row per warp, the same in
// every lane.
// RUN: kernelc-opt --tile-layouts %s | FileCheck %s
#x = affine_map<()[s0] -> (s0, 256)>
#y = affine_map<()[s0] -> (s0)>
tile.func @row_sum attributes {arg_names = ["x", "y"], arg_shapes = [#x, #y], arg_types = ["f32", "f32"], extents = #x,
    grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64: 4>, size_max = array<i64: -1>, sizes = ["M"],
    sources = array<i64: 0, 1>, tiles = array<i64: 4, 256>, warps = 4 : i64} {
^bb0(%x: memref<?x?xf32>, %y: memref<?xf32>):
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %p = tile.program_id 0
  %i = arith.muli %p, %four : index
  %v = tile.load %x[%i, %zero] map affine_map<(d0, d1)[s0] -> (d0, d1)> : memref<?x?xf32> -> tensor<4x256xf32>
  %s = tile.reduce sum %v dims [1] : tensor<4x256xf32> -> tensor<4x1xf32>
  tile.store %s, %y[%i, %zero] map affine_map<(d0, d1)[s0] -> (d0)> : tensor<4x1xf32>, memref<?xf32>
}
// CHECK: %[[V:.*]] = tile.load
// CHECK-SAME: tensor<4x256xf32, #tile.layout<reg = {{\[}}[1, 1, 4], [1, 128, 2]] lane = {{\[}}[1, 4, 32]] warp = {{\[}}[0, 1, 4]]>>
// CHECK: tile.reduce sum %[[V]] dims [1]
// CHECK-SAME: -> tensor<4x1xf32, #tile.layout<reg = [] lane = {{\[}}[-1, 0, 32]] warp = {{\[}}[0, 1, 4]]>>

// A window of two points of x: the rounds all of whose reads lie in x have a version that asks nothing.
// RUN: kernelc-opt --tile-inside-rounds %s | FileCheck %s
tile.func @window attributes {arg_names = ["x", "r"], arg_shapes = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (1024)>],
    arg_types = ["f32", ""], extents = affine_map<()[s0] -> (s0 ceildiv 1024, 1024)>, grid_dims = array<i64: 0>, indices = ["block", "i"],
    size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0, -1099511627776>, tiles = array<i64: 1, 128>,
    warps = 4 : i64, target = "sm_90a"} {
^bb0(%x: memref<?xf32>, %r: memref<?xf32>):
  %block = tile.program_id 0
  %none = arith.constant 0 : index
  %end = arith.constant 1024 : index
  %step = arith.constant 128 : index
  scf.for %i = %none to %end step %step {
    %a = tile.load %x[%block, %i] map affine_map<(d0, d1)[s0] -> (d0 * 1024 + d1 - 1)> bounds edge : memref<?xf32> -> tensor<1x128xf32>
    %b = tile.load %x[%block, %i] map affine_map<(d0, d1)[s0] -> (d0 * 1024 + d1 + 1)> bounds edge : memref<?xf32> -> tensor<1x128xf32>
    %sum = arith.addf %a, %b : tensor<1x128xf32>
    tile.store %sum, %r[%block, %i] map affine_map<(d0, d1)[s0] -> (d1)> : tensor<1x128xf32>, memref<?xf32>
  }
}
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1)[s0] -> (d0 * 1024 + d1 - 1)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1)[s0] -> (d0 * -1024 - d1 + s0 - 129)>
// CHECK: scf.for
// CHECK-DAG: tile.apply #[[FIRST]](
// CHECK-DAG: tile.apply #[[LAST]](
// CHECK: scf.if
// CHECK-NOT: bounds
// CHECK: } else {
// CHECK-COUNT-2: bounds edge
// CHECK-NOT: bounds

// Sums of 1000 columns, 32 to a block: of the last block's some lie beyond the end, are read as the last column, and not stored.
// RUN: kernelc-opt --tile-layouts --tile-clamp-loads %s | FileCheck %s
tile.func @column_sum attributes {arg_names = ["x", "y"], arg_shapes = [affine_map<()[s0] -> (s0, 1001)>, affine_map<()[s0] -> (1001)>],
    arg_types = ["f32", "f32"], extents = affine_map<()[s0] -> (1001, s0)>, grid_dims = array<i64: 0>, indices = ["j", "i"],
    size_div = array<i64: 64>, size_max = array<i64: -1>, sizes = ["M"], sources = array<i64: 0, 1>, tiles = array<i64: 32, 64>,
    clamp = 1 : i64, warps = 4 : i64, target = "sm_90a"} {
^bb0(%x: memref<?x?xf32>, %y: memref<?xf32>):
  %tile = tile.program_id 0
  %columns = arith.constant 32 : index
  %j = arith.muli %tile, %columns : index
  %none = arith.constant 0 : index
  %end = tile.apply affine_map<()[s0] -> (s0)>()
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sums = scf.for %i = %none to %end step %step iter_args(%sum = %zero) -> (tensor<32x64xf32>) {
    %v = tile.load %x[%j, %i] map affine_map<(d0, d1)[s0] -> (d1, d0)> {mask = array<i64: 0>} : memref<?x?xf32> -> tensor<32x64xf32>
    %next = tile.combine sum %sum, %v : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<32x64xf32>
    scf.yield %next : tensor<32x64xf32>
  }
  %s = tile.reduce sum %sums dims [1] : tensor<32x64xf32> -> tensor<32x1xf32>
  tile.store %s, %y[%j, %none] map affine_map<(d0, d1)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32x1xf32>, memref<?xf32>
}
// CHECK: tile.load {{.*}}clamp = array<i64: 0>, mask = array<i64: 0>

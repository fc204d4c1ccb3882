// What the pass reads off a load is refused where it is wrong: a map for another number of indices.
// RUN: kernelc-opt --tile-inside-rounds %s -split-input-file -verify-diagnostics
tile.func @other_map attributes {arg_names = ["r"], arg_shapes = [affine_map<() -> (64, 64)>], arg_types = [""],
    extents = affine_map<() -> (64, 64)>, grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: -1099511627776>, tiles = array<i64: 1, 64>, warps = 4 : i64, target = "sm_90a"} {
^bb0(%r: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  // expected-error @+1 {{map must go from the 2 indices and 0 index tiles to the tensor's 2 dims}}
  %t = tile.load %r[%zero, %zero] map affine_map<(d0) -> (d0, d0)> : memref<?x?xf32> -> tensor<1x64xf32>
}

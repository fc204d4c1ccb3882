// What the pass relies on is refused before it runs: a part lies inside its tile.
// RUN: kernelc-opt --tile-stage-stores %s -split-input-file -verify-diagnostics
tile.func @beyond attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = affine_map<() -> (64, 128)>,
    grid_dims = array<i64: 0, 1>, indices = ["i", "j"], size_div = array<i64>, size_max = array<i64>, sizes = [],
    sources = array<i64>, tiles = array<i64: 64, 128>, warps = 4 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
  %x = arith.constant dense<0.0> : tensor<64x128xf32>
  // expected-error @+1 {{takes a whole part along dim 1 and everything along others}}
  %y = tile.slice %x dim 1 from 96 : tensor<64x128xf32> -> tensor<64x64xf32>
}

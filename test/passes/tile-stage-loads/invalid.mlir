// What the pass makes is refused where it is wrong: a tile that is not the slot's.
// RUN: kernelc-opt %s -split-input-file -verify-diagnostics
tile.func @other_shape attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = affine_map<() -> (64, 128)>,
    grid_dims = array<i64: 0, 1>, indices = ["i", "j"], size_div = array<i64>, size_max = array<i64>, sizes = [],
    sources = array<i64>, tiles = array<i64: 64, 128>, warps = 4 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
  %zero = arith.constant 0 : index
  %ring = tile.ring : <[64, 64] x bf16, slots 2, contiguous 1>
  // expected-error @+1 {{has the ring's shape and element type, or with bytes multiples of its extents}}
  %x = tile.ring_load %ring at %zero : <[64, 64] x bf16, slots 2, contiguous 1> -> tensor<64x128xbf16>
}

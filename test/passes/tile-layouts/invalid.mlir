// RUN: kernelc-opt --tile-layouts %s -split-input-file -verify-diagnostics

#ab = affine_map<() -> (8, 8)>
#extents = affine_map<() -> (8, 8, 8)>
tile.func @too_small attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents, grid_dims = array<i64: 0, 1>,
    indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>,
    tiles = array<i64: 8, 8, 8>, unit = "mma", warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<8x8x1xf32>
  %x = tile.ring : <[8, 1, 8] x bf16, slots 2, contiguous 2>
  %y = tile.ring : <[1, 8, 8] x bf16, slots 2, contiguous 2>
  // expected-error @+1 {{has tiles of 8 × 8 results, which fill no fragments of unit mma: it needs powers of two, at least 16 × 16}}
  %acc = tile.dot %x, %y, %init m [0] n [1] k [2] at %zero
      : !tile.ring<[8, 1, 8] x bf16, slots 2, contiguous 2>, !tile.ring<[1, 8, 8] x bf16, slots 2, contiguous 2>, tensor<8x8x1xf32> -> tensor<8x8x1xf32>
}

// -----

#extents = affine_map<() -> (64, 64, 64)>
tile.func @half_a_warpgroup attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents,
    grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [],
    sources = array<i64>, tiles = array<i64: 64, 64, 64>, unit = "wgmma", warps = 2 : i64, target = "sm_90a"} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %x = tile.ring : <[64, 1, 64] x bf16, slots 2, contiguous 2>
  %y = tile.ring : <[1, 64, 64] x bf16, slots 2, contiguous 2>
  // expected-error @+1 {{gives unit wgmma 2 warps, no whole warpgroups}}
  %acc = tile.dot %x, %y, %init m [0] n [1] k [2] at %zero
      : !tile.ring<[64, 1, 64] x bf16, slots 2, contiguous 2>, !tile.ring<[1, 64, 64] x bf16, slots 2, contiguous 2>, tensor<64x64x1xf32> -> tensor<64x64x1xf32>
}

// -----

#extents = affine_map<() -> (16, 16, 16)>
// expected-error @+1 {{attribute 'unit' failed to satisfy constraint: simt, mma or wgmma}}
tile.func @no_such_unit attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents,
    grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [],
    sources = array<i64>, tiles = array<i64: 16, 16, 16>, unit = "tensor", warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = tile.ring : <[16, 1, 16] x bf16, slots 2, contiguous 2>
  %y = tile.ring : <[1, 16, 16] x bf16, slots 2, contiguous 2>
  %acc = tile.dot %x, %y, %init m [0] n [1] k [2] at %zero
      : !tile.ring<[16, 1, 16] x bf16, slots 2, contiguous 2>, !tile.ring<[1, 16, 16] x bf16, slots 2, contiguous 2>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
}

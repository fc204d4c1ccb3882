// How many points a thread has is the layout's to say.
// RUN: kernelc-opt --tile-clamp-loads %s -split-input-file -verify-diagnostics
tile.func @no_layout attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (64, 64)>], arg_types = ["f32"],
    extents = affine_map<() -> (64, 64)>, grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 1, 64>, clamp = 1 : i64, warps = 4 : i64, target = "sm_90a"} {
^bb0(%x: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  // expected-error @+1 {{makes a tile without a layout; run tile-layouts first}}
  %t = tile.load %x[%zero, %zero] map affine_map<(d0, d1) -> (d0, d1)> : memref<?x?xf32> -> tensor<1x64xf32>
}

// -----

// Nothing is clamped that is not masked.
tile.func @no_mask attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (64, 64)>], arg_types = ["f32"],
    extents = affine_map<() -> (64, 64)>, grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 1, 64>, clamp = 1 : i64, warps = 4 : i64, target = "sm_90a"} {
^bb0(%x: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  // expected-error @+1 {{clamp names dims of mask}}
  %t = tile.load %x[%zero, %zero] map affine_map<(d0, d1) -> (d0, d1)> {clamp = array<i64: 1>} : memref<?x?xf32> -> tensor<1x64xf32>
}

// More rounds at a time than a function may have.
// RUN: kernelc-opt --tile-load-ahead %s -split-input-file -verify-diagnostics
// expected-error @+1 {{ahead}}
tile.func @too_far attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (64, 64)>], arg_types = ["f32"],
    extents = affine_map<() -> (64, 64)>, grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 1, 64>, warps = 4 : i64, ahead = 33 : i64, target = "sm_90a"} {
^bb0(%x: memref<?x?xf32>):
  %zero = arith.constant 0 : index
}

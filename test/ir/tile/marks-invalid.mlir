// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// Marks where they belong.
tile.func @do_nothing attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %one = arith.constant 1 : index
  %n = tile.apply affine_map<(d0)[s0] -> (s0 - d0)>(%i) {least = 1 : i64}
  scf.for %k = %one to %n step %one {
  } {tile.last_round}
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  // expected-error @+1 {{has the mark 'tile.last_round', which is for loops}}
  %i = tile.program_id 0 {tile.last_round}
}
// -----
// expected-error @+1 {{has no attribute 'staged', and there is no such mark; ir/*/Marks.h lists marks}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64, staged = 4 : i64} {
^bb0(%x: memref<?xf32>):
}

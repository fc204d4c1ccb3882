// RUN: kernelc-opt --tile-to-cu %s -split-input-file -verify-diagnostics

tile.func @no_layout attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (4)>], arg_types = ["f32"],
    extents = affine_map<() -> (4)>, grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 4>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  // expected-error @+1 {{makes a tile without a layout; run tile-layouts first}}
  %v = tile.load %x[%i] map affine_map<(d0) -> (d0)> : memref<?xf32> -> tensor<4xf32>
  tile.store %v, %x[%i] map affine_map<(d0) -> (d0)> : tensor<4xf32>, memref<?xf32>
}

// -----

#acc = #tile.layout<reg = [[1, 1, 4]] lane = [[1, 4, 4], [0, 1, 8]] warp = []>
#a = #tile.layout<reg = [[2, 1, 8]] lane = [[-1, 0, 4], [0, 1, 8]] warp = []>
#b = #tile.layout<reg = [[2, 1, 8]] lane = [[1, 1, 16], [-1, 0, 2]] warp = []>
tile.func @operands_in_registers attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = affine_map<() -> (8, 16, 8)>,
    grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [],
    sources = array<i64>, tiles = array<i64: 8, 16, 8>, warps = 1 : i64} {
  %init = arith.constant dense<0.0> : tensor<8x16x1xf32, #acc>
  %x = arith.constant dense<0.0> : tensor<8x1x8xf32, #a>
  %y = arith.constant dense<0.0> : tensor<1x16x8xf32, #b>
  // expected-error @+1 {{has operands in registers; run tile-pipeline first}}
  %d = tile.dot %x, %y, %init m [0] n [1] k [2] : tensor<8x1x8xf32, #a>, tensor<1x16x8xf32, #b>, tensor<8x16x1xf32, #acc> -> tensor<8x16x1xf32, #acc>
}

// -----

#layout = #tile.layout<reg = [] lane = [[0, 1, 4], [-1, 0, 8]] warp = []>
tile.func @branch_with_a_tile attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = affine_map<() -> (4)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>,
    tiles = array<i64: 4>, warps = 1 : i64} {
  %i = tile.program_id 0
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %i, %zero : index
  %x = arith.constant dense<0.0> : tensor<4xf32, #layout>
  // expected-error @+1 {{with results cannot be lowered to threads}}
  %r = scf.if %first -> tensor<4xf32, #layout> {
    scf.yield %x : tensor<4xf32, #layout>
  } else {
    scf.yield %x : tensor<4xf32, #layout>
  }
}

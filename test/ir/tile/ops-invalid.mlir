// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{[C1] needs a name, a type, a shape and a source for each of its 1 arguments}}
tile.func @f attributes {arg_names = [], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C1] the shape of argument 0 must give its 1 dims over the sizes}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0, 1)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C2] needs an extent over its sizes and a tile size for each of its 1 indices}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<() -> (4)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C2] has tiles with an extent that is not positive, or of more than 2147483648 points}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 0>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C3] divisors in size_div are 1 or more, bounds in size_max -1 or more}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 0>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C4] grid_dims names index 1 of 1}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 1>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C4] grid_dims names index 0 twice}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0, 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C4] has a cluster along index 3 of 1}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, cluster = 2 : i64, cluster_index = 3 : i64, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C5] 'warps' is 1 to 32, not 0}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 0 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C5] has 36 warps; a block has 32}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 32 : i64, producer_warps = 4 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C5] has the unknown target 'sm_1'}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, target = "sm_1", warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C6] arg_strides must have 'unit', or a map from the sizes to a stride per dim, for each argument}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, arg_strides = [unit, unit], warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C6] arg_alignment must have 1, 2, 4, 8 or 16 bytes for each argument}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, arg_alignment = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C14] aligned_rows must go from the indices and the sizes to a form, an index and a power of two above 1}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, aligned_rows = affine_map<(d0)[s0] -> (d0, d0, 6)>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C14] aligned_rows must go from the indices and the sizes to a form, an index and a power of two above 1}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, aligned_rows = affine_map<(d0)[s0] -> (d0, d0 + 1, 4)>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C14] aligned_rows must go from the indices and the sizes to a form, an index and a power of two above 1}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, aligned_rows = affine_map<(d0)[s0] -> (d0, d0)>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
// expected-error @+1 {{[C14] aligned_rows must go from the indices and the sizes to a form, an index and a power of two above 1}}
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, aligned_rows = affine_map<(d0) -> (d0, d0, 4)>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C7] makes the tile 'tensor<32x1xf32>'; it has one positive extent for each of the 1 indices, and numbers for elements}}
  %c = arith.constant dense<0.0> : tensor<32x1xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C7] is a tile of several values; constant tiles have one}}
  %c = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{its layout is of 1 warps of 16 lanes, the function's of 1 of 32}}
  %c = arith.constant dense<0.0> : tensor<32xf32, #tile.layout<reg = [] lane = [[0, 1, 16]] warp = []>>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{a digit of its layout has an index or -1, a stride that is not negative and a positive size}}
  %c = arith.constant dense<0.0> : tensor<32xf32, #tile.layout<reg = [] lane = [[1, 1, 32]] warp = []>>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{its layout reaches other extents}}
  %c = arith.constant dense<0.0> : tensor<16xf32, #tile.layout<reg = [] lane = [[0, 1, 32]] warp = []>>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  // expected-error @+1 {{[C8] must have an offset for each of the 1 indices, and a map from these and the sizes to the 1 dims of the tensor}}
  %v = tile.load %x[%i] map affine_map<(d0) -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  // expected-error @+1 {{[C8] moves elements of 'f16', the tensor has 'f32'}}
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf16>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf16>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C8] takes a tensor of the launch; only loads, stores and copies of this dialect do}}
  %c = memref.load %x[%i] : memref<?xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  // expected-error @+1 {{[C9] names index 1, which is none of the grid}}
  %i = tile.program_id 1
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  // expected-error @+1 {{[C9] names an index twice, or one that is not there: there are 1}}
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 1>} : memref<?xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C10] makes a tile of 'index' that has several elements along its index only}}
  %c = tile.index 0 at %i : tensor<32xi32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C10] has a map from its operands and the sizes of the function to one number}}
  %c = tile.apply affine_map<(d0)[s0] -> (d0, s0)>(%i)
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C10] makes a tile of its operand's type}}
  %c = tile.splat %i : index -> tensor<1xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C10] makes a tile of integers or f8 from one of floats with its shape}}
  %c = tile.convert %v : tensor<32xf32> to tensor<16xi8>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C10] gives a tile another layout, not another shape or type}}
  %c = tile.convert_layout %v : tensor<32xf32> -> tensor<16xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C10] combines two tiles of its result's type that its kind takes, of arg kinds with their positions}}
  %c = tile.combine argmax %v, %v : tensor<32xf32>, tensor<32xf32> -> tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  %on = arith.constant true
  // expected-error @+1 {{[C10] makes a tile, and is no elementwise op of tiles that have its shape}}
  %c = arith.select %on, %v, %v : tensor<32xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{a ring has one positive extent per index, of which there are 1}}
  %r = tile.ring : <[32, 1] x f32, slots 2, contiguous 0>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{a ring has one positive extent per index, of which there are 1}}
  %r = tile.ring : <[32] x f32, slots 0, contiguous 0>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  %slots = tile.ring : <[32] x f32, slots 2, contiguous 0>
  // expected-error @+1 {{is made by threads, which asks for a channel with fillers}}
  tile.ring_copy %slots at %i from %x[%i] map affine_map<(d0)[s0] -> (d0)> {by_threads} : <[32] x f32, slots 2, contiguous 0>, memref<?xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  %channel = tile.channel : <slots 2>
  // expected-error @+1 {{speaks of the copies of threads, which asks for a channel with fillers}}
  tile.filled %channel at %i : <slots 2>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{a channel has 1 to 1024 slots, readers of 32 or 128 threads, and whole warps of fillers}}
  %r = tile.channel : <slots 2, reader 5>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C12] has 1 producers and a function of 1 and 0 producer warps; roles are whole warpgroups}}
  tile.roles producer registers 56 {
    tile.barrier
  } consumer registers 224 {
    tile.barrier
  }
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  %n = arith.constant 1 : i32
  // expected-error @+1 {{[C13] must count by an index}}
  scf.for %k = %n to %n step %n : i32 {
  }
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C13] is no control flow of a tile.func: that is scf.for and scf.if}}
  scf.execute_region {
    scf.yield
  }
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C1] reduces dim 1 of 1}}
  %c = tile.reduce sum %v dims [1] : tensor<32xf32> -> tensor<1xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C1] keeps rank and element type}}
  %c = tile.reduce sum %v dims [0] : tensor<32xf32> -> tensor<1x1xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{[C2] has one tile of elements that xor takes, of arg kinds with positions}}
  %c = tile.reduce xor %v dims [0] : tensor<32xf32> -> tensor<1xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], extents = affine_map<()[s0] -> (s0)>,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64: 1>, size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>,
    tiles = array<i64: 32>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{takes a part of some known, positive extent}}
  %c = tile.slice %v dim 0 from 0 : tensor<32xf32> -> tensor<0xf32>
  tile.store %v, %x[%i] map affine_map<(d0)[s0] -> (d0)> {mask = array<i64: 0>} : tensor<32xf32>, memref<?xf32>
}
// -----
#extents = affine_map<() -> (16, 16, 32)>
tile.func @product attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents, grid_dims = array<i64: 0, 1>,
    indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>, tiles = array<i64: 16, 16, 32>,
    warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = arith.constant dense<0.0> : tensor<16x1x32xf32>
  %y = arith.constant dense<0.0> : tensor<1x16x32xf32>
  // expected-error @+1 {{[C1] has operands of 1 and 16 and results of 16 points along index 1, one of 'm'}}
  %d = tile.dot %x, %y, %init m [1] n [1] k [2] : tensor<16x1x32xf32>, tensor<1x16x32xf32>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
}
// -----
#extents = affine_map<() -> (16, 16, 32)>
tile.func @product attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents, grid_dims = array<i64: 0, 1>,
    indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>, tiles = array<i64: 16, 16, 32>,
    warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = arith.constant dense<0.0> : tensor<16x1x32xf32>
  %y = arith.constant dense<0.0> : tensor<1x16x32xf32>
  // expected-error @+1 {{[C1] names no index in 'n'}}
  %d = tile.dot %x, %y, %init m [0] n [] k [2] : tensor<16x1x32xf32>, tensor<1x16x32xf32>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
}
// -----
#extents = affine_map<() -> (16, 16, 32)>
tile.func @product attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents, grid_dims = array<i64: 0, 1>,
    indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>, tiles = array<i64: 16, 16, 32>,
    warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = arith.constant dense<0.0> : tensor<16x1x32xf32>
  %y = arith.constant dense<0.0> : tensor<1x16x32xf32>
  // expected-error @+1 {{[C1] names index 3 of 3 in 'k', or names it twice}}
  %d = tile.dot %x, %y, %init m [0] n [1] k [3] : tensor<16x1x32xf32>, tensor<1x16x32xf32>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
}
// -----
#extents = affine_map<() -> (16, 16, 32)>
tile.func @product attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents, grid_dims = array<i64: 0, 1>,
    indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>, tiles = array<i64: 16, 16, 32>,
    warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = arith.constant dense<0.0> : tensor<16x1x32xf32>
  %y = arith.constant dense<0.0> : tensor<1x16x32xf32>
  // expected-error @+1 {{[C2] takes rings, at a number, or tiles, with the accumulator's 3 dims}}
  %d = tile.dot %x, %zero, %init m [0] n [1] k [2] : tensor<16x1x32xf32>, index, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
}
// -----
#extents = affine_map<() -> (16, 16, 32)>
tile.func @product attributes {arg_names = [], arg_shapes = [], arg_types = [], extents = #extents, grid_dims = array<i64: 0, 1>,
    indices = ["i", "j", "k"], size_div = array<i64>, size_max = array<i64>, sizes = [], sources = array<i64>, tiles = array<i64: 16, 16, 32>,
    warps = 1 : i64} {
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = arith.constant dense<0.0> : tensor<16x1x32xf32>
  %y = arith.constant dense<0> : tensor<1x16x32xi8>
  // expected-error @+1 {{[C3] sums floats in floats, or integers in integers, not 'f32' and 'i8' in 'f32'}}
  %d = tile.dot %x, %y, %init m [0] n [1] k [2] : tensor<16x1x32xf32>, tensor<1x16x32xi8>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
}
// -----
%a = arith.constant dense<0.0> : tensor<16x1x8xbf16>
%b = arith.constant dense<0.0> : tensor<1x16x8xbf16>
%c = arith.constant dense<0.0> : tensor<16x16x1xf32>
%n = arith.constant 3 : index
// expected-error @+1 {{[C5] has a count of points, and no mark says in 'bf16' which of the others are absent}}
%r = tile.dot %a, %b, %c m [0] n [1] k [2] count %n : tensor<16x1x8xbf16>, tensor<1x16x8xbf16>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
// -----
%a = arith.constant dense<0.0> : tensor<16x1x8xf32>
%b = arith.constant dense<0.0> : tensor<1x16x8xf32>
%c = arith.constant dense<0.0> : tensor<16x16x1xf32>
// expected-error @+1 {{[C4] has a term of two 'f32' that ends in a tile.term of one}}
%r = tile.dot %a, %b, %c m [0] n [1] k [2] by min {
^bb0(%x: f32, %y: i32):
  tile.term %x : f32
} : tensor<16x1x8xf32>, tensor<1x16x8xf32>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
// -----
%a = arith.constant dense<0.0> : tensor<16x1x8xf32>
%b = arith.constant dense<0.0> : tensor<1x16x8xf32>
%c = arith.constant dense<0.0> : tensor<16x16x1xf32>
// expected-error @+1 {{[C4] combines its terms by argmin, which wants positions, too}}
%r = tile.dot %a, %b, %c m [0] n [1] k [2] by argmin {
^bb0(%x: f32, %y: f32):
  tile.term %x : f32
} : tensor<16x1x8xf32>, tensor<1x16x8xf32>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>

// RUN: kernelc-opt %s -o %t.before && kernelc-opt --te-to-tile %s -o %t.after && diff %t.before %t.after

// No launches.
te.kernel @do_nothing sizes [] args ["x"] : ["f32"] [affine_map<() -> (4)>]
    outs ["x"] : ["f32"] [affine_map<() -> (4)>]
    attributes {out_alias = array<i64: 0>, plan = {launches = [], size_div = array<i64>, size_max = array<i64>, target = "sm_80"}} {
^bb0(%x: tensor<4xf32>):
  te.return %x : tensor<4xf32>
}

// What is tile already stays.
tile.func @done attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (4)>], arg_types = ["f32"],
    extents = affine_map<() -> (4)>, grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 4>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0) -> (d0)> : memref<?xf32> -> tensor<4xf32>
  tile.store %v, %x[%i] map affine_map<(d0) -> (d0)> : tensor<4xf32>, memref<?xf32>
}

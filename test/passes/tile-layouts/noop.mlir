// RUN: kernelc-opt %s -o %t.before && kernelc-opt --tile-layouts %s -o %t.after && diff %t.before %t.after

// No tiles: scalars and loops have no layout.
tile.func @do_nothing attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (4)>], arg_types = ["f32"],
    extents = affine_map<() -> (4)>, grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 4>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %i = tile.program_id 0
  scf.for %t = %zero to %four step %one {
    tile.barrier
  }
}

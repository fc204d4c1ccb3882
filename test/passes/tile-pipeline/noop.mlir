// RUN: kernelc-opt %s -o %t.before && kernelc-opt --tile-pipeline %s -o %t.after && diff %t.before %t.after

// No product.
tile.func @do_nothing attributes {arg_names = ["x"], arg_shapes = [affine_map<() -> (4)>], arg_types = ["f32"],
    extents = affine_map<() -> (4)>, grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0>, tiles = array<i64: 4>, warps = 1 : i64} {
^bb0(%x: memref<?xf32>):
  %i = tile.program_id 0
  %v = tile.load %x[%i] map affine_map<(d0) -> (d0)> : memref<?xf32> -> tensor<4xf32>
  tile.store %v, %x[%i] map affine_map<(d0) -> (d0)> : tensor<4xf32>, memref<?xf32>
}

// A product that is fed already.
#ab = affine_map<() -> (16, 32)>
#cc = affine_map<() -> (16, 16)>
tile.func @fed attributes {arg_names = ["a", "b", "c"], arg_shapes = [#ab, #ab, #cc], arg_types = ["bf16", "bf16", "f32"],
    extents = affine_map<() -> (16, 16, 32)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1, 2>, stages = 2 : i64, tiles = array<i64: 16, 16, 32>, unit = "mma",
    warps = 1 : i64} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = tile.ring : <[16, 1, 32] x bf16, slots 2, contiguous 2>
  %y = tile.ring : <[1, 16, 32] x bf16, slots 2, contiguous 2>
  %acc = scf.for %t = %zero to %one step %one iter_args(%sum = %init) -> tensor<16x16x1xf32> {
    %next = tile.dot %x, %y, %sum m [0] n [1] k [2] at %t
        : !tile.ring<[16, 1, 32] x bf16, slots 2, contiguous 2>, !tile.ring<[1, 16, 32] x bf16, slots 2, contiguous 2>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
    scf.yield %next : tensor<16x16x1xf32>
  }
  tile.store %acc, %c[%zero, %zero, %zero] map affine_map<(d0, d1, d2) -> (d0, d1)> : tensor<16x16x1xf32>, memref<?x?xf32>
}

// What the pass marks is refused where it is wrong: an index that is summed is none of the grid.
// RUN: kernelc-opt %s -split-input-file -verify-diagnostics
tile.func @summed attributes {arg_names = ["a"], arg_shapes = [affine_map<()[s0] -> (64, s0)>], arg_types = ["bf16"],
    extents = affine_map<()[s0] -> (64, s0)>, grid_dims = array<i64: 0>, indices = ["i", "k"], size_div = array<i64: 1>,
    size_max = array<i64: -1>, sizes = ["K"], sources = array<i64: 0>, tiles = array<i64: 64, 64>, warps = 4 : i64,
    producer_warps = 4 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xbf16>):
  %zero = arith.constant 0 : index
  %ring = tile.ring : <[64, 64] x bf16, slots 2, contiguous 1>
  %channel = tile.channel : <slots 2>
  tile.acquire %channel at %zero bytes 8192 : <slots 2>
  // expected-error @+1 {{[C2] has a tail, which takes an index of the grid and a copy that one thread makes}}
  tile.ring_copy %ring at %zero from %a[%zero, %zero] map affine_map<(d0, d1)[s0] -> (d0, d1)> signal %channel : !tile.channel<slots 2> {tail = 1 : i64}
      : <[64, 64] x bf16, slots 2, contiguous 1>, memref<?x?xbf16>
}

// Rows of a end inside the last tile, and a product alone reads the slot: the copy leaves out what lies beyond. Columns of b are whole.
// RUN: kernelc-opt --tile-cut-tails %s | FileCheck %s
#a = affine_map<()[s0] -> (s0, 64)>
#b = affine_map<()[s0] -> (64, 64)>
tile.func @last attributes {arg_names = ["a", "b"], arg_shapes = [#a, #b], arg_types = ["bf16", "bf16"],
    extents = affine_map<()[s0] -> (s0, 64, 64)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64: 1>,
    size_max = array<i64: -1>, sizes = ["M"], sources = array<i64: 0, 1>, stages = 2 : i64, tiles = array<i64: 64, 64, 64>,
    unit = "wgmma", warps = 4 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>):
  %zero = arith.constant 0 : index
  %tile = arith.constant 64 : index
  %p = tile.program_id 0
  %i0 = arith.muli %p, %tile : index
  %acc = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %x = tile.ring : <[64, 1, 64] x bf16, slots 2, contiguous 2>
  %y = tile.ring : <[1, 64, 64] x bf16, slots 2, contiguous 2>
  %channel = tile.channel : <slots 2>
  tile.acquire %channel at %zero bytes 16384 : <slots 2>
  tile.ring_copy %x at %zero from %a[%i0, %zero, %zero] map affine_map<(d0, d1, d2)[s0] -> (d0, d2)> signal %channel : !tile.channel<slots 2>
      : <[64, 1, 64] x bf16, slots 2, contiguous 2>, memref<?x?xbf16>
  tile.ring_copy %y at %zero from %b[%i0, %zero, %zero] map affine_map<(d0, d1, d2)[s0] -> (d1, d2)> signal %channel : !tile.channel<slots 2>
      : <[1, 64, 64] x bf16, slots 2, contiguous 2>, memref<?x?xbf16>
  %r = tile.dot %x, %y, %acc m [0] n [1] k [2] at %zero
      : !tile.ring<[64, 1, 64] x bf16, slots 2, contiguous 2>, !tile.ring<[1, 64, 64] x bf16, slots 2, contiguous 2>, tensor<64x64x1xf32> -> tensor<64x64x1xf32>
}
// CHECK: tile.acquire %{{.*}} bytes 16384
// CHECK: tile.ring_copy {{.*}} from %arg0{{.*}} {tail = 0 : i64}
// CHECK-NOT: tail

// A residual of 64 columns behind a product is brought to a slot while the product runs.
// RUN: kernelc-opt --tile-stage-loads %s | FileCheck %s
#ab = affine_map<() -> (128, 64)>
#cc = affine_map<() -> (128, 64)>
#ij = affine_map<(d0, d1, d2) -> (d0, d1)>
tile.func @residual attributes {arg_names = ["r", "c"], arg_shapes = [#cc, #cc], arg_types = ["bf16", "bf16"],
    extents = affine_map<() -> (128, 64, 64)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1>, stages = 2 : i64, tiles = array<i64: 128, 64, 64>,
    unit = "wgmma", warps = 8 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
^bb0(%r: memref<?x?xbf16>, %c: memref<?x?xbf16>):
  %zero = arith.constant 0 : index
  %acc = arith.constant dense<1.0> : tensor<128x64x1xbf16>
  %x = tile.load %r[%zero, %zero, %zero] map #ij : memref<?x?xbf16> -> tensor<128x64x1xbf16>
  %y = arith.addf %acc, %x : tensor<128x64x1xbf16>
  tile.store %y, %c[%zero, %zero, %zero] map #ij : tensor<128x64x1xbf16>, memref<?x?xbf16>
}
// CHECK: ^bb0(%[[R:.*]]: memref<?x?xbf16>, %{{.*}}):
// CHECK: %[[RING:.*]] = tile.ring : <[128, 64, 1] x bf16, slots 1, contiguous 1>
// CHECK: %[[CHANNEL:.*]] = tile.channel : <slots 1, reader 32>
// CHECK: tile.acquire %[[CHANNEL]] at %[[N:.*]] bytes 16384
// CHECK: tile.ring_copy %[[RING]] at %[[N]] from %[[R]]{{.*}} signal %[[CHANNEL]]
// CHECK: tile.await %[[CHANNEL]] at %[[N]]
// CHECK: %[[X:.*]] = tile.ring_load %[[RING]] at %[[N]]
// CHECK: tile.release %[[CHANNEL]] at %[[N]]
// CHECK: arith.addf %{{.*}}, %[[X]]

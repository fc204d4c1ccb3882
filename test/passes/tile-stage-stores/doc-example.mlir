// 128 columns leave in two parts of 64: each is rounded, put into shared memory and
// copied from there while the next is computed.
// RUN: kernelc-opt --tile-pipeline --tile-stage-stores --canonicalize %s | FileCheck %s
#ab = affine_map<() -> (128, 256)>
#cc = affine_map<() -> (128, 128)>
#k0 = affine_map<(d0) -> (d0 * 64)>
#ik = affine_map<(d0, d1, d2) -> (d0, d2)>
#jk = affine_map<(d0, d1, d2) -> (d1, d2)>
#ij = affine_map<(d0, d1, d2) -> (d0, d1)>
tile.func @product attributes {arg_names = ["a", "b", "c"], arg_shapes = [#ab, #ab, #cc], arg_types = ["bf16", "bf16", "bf16"],
    extents = affine_map<() -> (128, 128, 256)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1, 2>, stages = 2 : i64, tiles = array<i64: 128, 128, 64>,
    unit = "wgmma", warps = 8 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xbf16>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %init = arith.constant dense<0.0> : tensor<128x128x1xf32>
  %acc = scf.for %t = %zero to %four step %one iter_args(%sum = %init) -> tensor<128x128x1xf32> {
    %k = tile.apply #k0(%t)
    %x = tile.load %a[%zero, %zero, %k] map #ik : memref<?x?xbf16> -> tensor<128x1x64xbf16>
    %y = tile.load %b[%zero, %zero, %k] map #jk : memref<?x?xbf16> -> tensor<1x128x64xbf16>
    %next = tile.dot %x, %y, %sum m [0] n [1] k [2]
        : tensor<128x1x64xbf16>, tensor<1x128x64xbf16>, tensor<128x128x1xf32> -> tensor<128x128x1xf32>
    scf.yield %next : tensor<128x128x1xf32>
  }
  %narrow = arith.truncf %acc : tensor<128x128x1xf32> to tensor<128x128x1xbf16>
  tile.store %narrow, %c[%zero, %zero, %zero] map #ij : tensor<128x128x1xbf16>, memref<?x?xbf16>
}
// CHECK: ^bb0(%{{.*}}, %{{.*}}, %[[C:.*]]: memref<?x?xbf16>):
// CHECK: %[[OUT:.*]] = tile.ring : <[128, 64, 1] x bf16, slots 2, contiguous 1>
// CHECK: %[[ACC:.*]] = tile.dot_wait %{{.*}} pending 0
// CHECK: %[[S0:.*]] = tile.slice %[[ACC]] dim 1 from 0
// CHECK: %[[P0:.*]] = arith.truncf %[[S0]] : tensor<128x64x1xf32> to tensor<128x64x1xbf16>
// CHECK: tile.box_drain 1
// CHECK: tile.ring_store %[[OUT]] at %c0, %[[P0]]
// CHECK: tile.box_store %[[OUT]] at %c0 to %[[C]][%c0, %c0, %c0]
// CHECK: %[[S1:.*]] = tile.slice %[[ACC]] dim 1 from 64
// CHECK: %[[P1:.*]] = arith.truncf %[[S1]]
// CHECK: tile.box_drain 1
// CHECK: tile.ring_store %[[OUT]] at %c1, %[[P1]]
// CHECK: tile.box_store %[[OUT]] at %c1 to %[[C]][%c0, %c64, %c0]
// CHECK-NOT: tile.store
// CHECK: tile.box_drain 0

// The rows of a product that every round of a loop takes are loaded before it; its columns are each round's own.
// RUN: kernelc-opt --tile-hoist-loads %s | FileCheck %s

// CHECK: %[[X:.*]] = tile.load %{{.*}} -> tensor<64x1x64xbf16>
// CHECK: scf.for
// CHECK:   %[[Y:.*]] = tile.load %{{.*}} -> tensor<1x64x64xbf16>
// CHECK:   tile.dot %[[X]], %[[Y]]
#ik = affine_map<(d0, d1, d2) -> (d0, d2)>
#jk = affine_map<(d0, d1, d2) -> (d1, d2)>
#ab = affine_map<() -> (64, 64)>
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = ["a", "b", "c"],
    arg_types = ["bf16", "bf16", "f32"], arg_shapes = [#ab, affine_map<() -> (256, 64)>, affine_map<() -> (64)>],
    sources = array<i64: 0, 1, 2>, indices = ["i", "j", "k"], extents = affine_map<() -> (64, 256, 64)>, tiles = array<i64: 64, 64, 64>,
    grid_dims = array<i64>, warps = 4 : i64, unit = "wgmma", stages = 2 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?xf32>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %none = arith.constant dense<0.0> : tensor<64x1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %sum = scf.for %j = %c0 to %c256 step %c64 iter_args(%before = %none) -> (tensor<64x1x1xf32>) {
    %x = tile.load %a[%c0, %j, %c0] map #ik : memref<?x?xbf16> -> tensor<64x1x64xbf16>
    %y = tile.load %b[%c0, %j, %c0] map #jk : memref<?x?xbf16> -> tensor<1x64x64xbf16>
    %p = tile.dot %x, %y, %zero m [0] n [1] k [2] : tensor<64x1x64xbf16>, tensor<1x64x64xbf16>, tensor<64x64x1xf32> -> tensor<64x64x1xf32>
    %r = tile.reduce sum %p dims [1] : tensor<64x64x1xf32> -> tensor<64x1x1xf32>
    %next = arith.addf %before, %r : tensor<64x1x1xf32>
    scf.yield %next : tensor<64x1x1xf32>
  }
  tile.store %sum, %c[%c0, %c0, %c0] map affine_map<(d0, d1, d2) -> (d0)> : tensor<64x1x1xf32>, memref<?xf32>
}

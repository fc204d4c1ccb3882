// Rows 128 to 191 of a causal product: the tiles of columns before 128 lie below the diagonal.
// RUN: kernelc-opt --tile-split-rounds --canonicalize %s | FileCheck %s

// CHECK: %[[BELOW:.*]] = scf.for %{{.*}} = %c0 to %[[FULL:.*]] step
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[FULL]] to %{{.*}} iter_args(%{{.*}} = %[[BELOW]])
// CHECK: arith.cmpi sle
// CHECK: arith.select
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = [], arg_types = [],
    arg_shapes = [], sources = array<i64>, indices = ["i", "e", "j", "d"], extents = affine_map<() -> (64, 64, 512, 64)>,
    tiles = array<i64: 64, 64, 64, 64>, grid_dims = array<i64>, warps = 4 : i64, producer_warps = 4 : i64, unit = "wgmma",
    stages = 2 : i64, in_flight = 2 : i64, target = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %none = arith.constant dense<0.0> : tensor<64x1x64x1xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64x1x1xf32>
  %q = tile.ring : <[64, 1, 1, 64] x bf16, slots 1, contiguous 3>
  %k = tile.ring : <[1, 1, 64, 64] x bf16, slots 2, contiguous 3>
  %v = tile.ring : <[1, 64, 64, 1] x bf16, slots 2, contiguous 1>
  %kfull = tile.channel : <slots 2>
  %vfull = tile.channel : <slots 2>
  %o = scf.for %j = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (tensor<64x64x1x1xf32>) {
    tile.await %kfull at %j : <slots 2>
    %s = tile.dot %q, %k, %none m [0] n [2] k [3] at %j a_at %c0 : !tile.ring<[64, 1, 1, 64] x bf16, slots 1, contiguous 3>,
        !tile.ring<[1, 1, 64, 64] x bf16, slots 2, contiguous 3>, tensor<64x1x64x1xf32> -> tensor<64x1x64x1xf32>
    %sw = tile.dot_wait %s pending 0 : tensor<64x1x64x1xf32> -> tensor<64x1x64x1xf32>
    tile.release %kfull at %j : <slots 2>
    %j0 = arith.muli %j, %c64 : index
    %row = tile.index 0 at %c128 : tensor<64x1x1x1xindex>
    %column = tile.index 2 at %j0 : tensor<1x1x64x1xindex>
    %rows = tile.broadcast %row : tensor<64x1x1x1xindex> -> tensor<64x1x64x1xindex>
    %columns = tile.broadcast %column : tensor<1x1x64x1xindex> -> tensor<64x1x64x1xindex>
    %below = arith.cmpi sle, %columns, %rows : tensor<64x1x64x1xindex>
    %sm = arith.select %below, %sw, %none : tensor<64x1x64x1xi1>, tensor<64x1x64x1xf32>
    %e = math.exp %sm : tensor<64x1x64x1xf32>
    %p = arith.truncf %e : tensor<64x1x64x1xf32> to tensor<64x1x64x1xbf16>
    tile.await %vfull at %j : <slots 2>
    %pv = tile.dot %p, %v, %acc m [0] n [1] k [2] at %j : tensor<64x1x64x1xbf16>,
        !tile.ring<[1, 64, 64, 1] x bf16, slots 2, contiguous 1>, tensor<64x64x1x1xf32> -> tensor<64x64x1x1xf32>
    %ow = tile.dot_wait %pv pending 0 : tensor<64x64x1x1xf32> -> tensor<64x64x1x1xf32>
    tile.release %vfull at %j : <slots 2>
    scf.yield %ow : tensor<64x64x1x1xf32>
  }
}

// Two rounds at a time: both products run while the first one's sum is added up.
// RUN: kernelc-opt --tile-overlap-dots %s | FileCheck %s

// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c8{{.*}} step %c2
// CHECK-SAME: iter_args(%[[SUM:.*]] =
// CHECK-NEXT: tile.await %[[FULL:.*]] at %[[K]]
// CHECK-NEXT: %[[P:.*]] = tile.dot {{.*}} at %[[K]]
// CHECK: %[[L:.*]] = arith.addi %[[K]]
// CHECK-NEXT: tile.await %[[FULL]] at %[[L]]
// CHECK-NEXT: %[[Q:.*]] = tile.dot {{.*}} at %[[L]]
// CHECK-NEXT: %[[PW:.*]] = tile.dot_wait %[[P]] pending 1
// CHECK-NEXT: tile.release %[[FULL]] at %[[K]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[SUM]], %[[PW]]
// CHECK-NEXT: %[[QW:.*]] = tile.dot_wait %[[Q]] pending 0
// CHECK-NEXT: tile.release %[[FULL]] at %[[L]]
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[S]], %[[QW]]
// CHECK-NEXT: scf.yield %[[T]]
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = [], arg_types = [],
    arg_shapes = [], sources = array<i64>, indices = ["i", "j", "k"], extents = affine_map<() -> (64, 64, 1024)>,
    tiles = array<i64: 64, 64, 128>, grid_dims = array<i64>, warps = 4 : i64, producer_warps = 4 : i64, unit = "wgmma",
    stages = 4 : i64, promote = 128 : i64, in_flight = 2 : i64, target = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %a = tile.ring : <[64, 1, 128] x f8E4M3FN, slots 4, contiguous 2>
  %b = tile.ring : <[1, 64, 128] x f8E4M3FN, slots 4, contiguous 2>
  %full = tile.channel : <slots 4>
  %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (tensor<64x64x1xf32>) {
    tile.await %full at %k : <slots 4>
    %p = tile.dot %a, %b, %zero m [0] n [1] k [2] at %k : !tile.ring<[64, 1, 128] x f8E4M3FN, slots 4, contiguous 2>,
        !tile.ring<[1, 64, 128] x f8E4M3FN, slots 4, contiguous 2>, tensor<64x64x1xf32> -> tensor<64x64x1xf32>
    %w = tile.dot_wait %p pending 0 : tensor<64x64x1xf32> -> tensor<64x64x1xf32>
    tile.release %full at %k : <slots 4>
    %s = arith.addf %acc, %w : tensor<64x64x1xf32>
    scf.yield %s : tensor<64x64x1xf32>
  }
}

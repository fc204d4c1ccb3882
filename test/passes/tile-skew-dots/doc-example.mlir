// Work on a round's first product while the second one of the round before is in flight.
// RUN: kernelc-opt --tile-skew-dots %s | FileCheck %s
// RUN: sed 's/in_flight = 2/in_flight = 1/' %s > %t.mlir
// RUN: kernelc-opt --tile-skew-dots %t.mlir | FileCheck %s --check-prefix=ALONE

// CHECK: tile.await %[[K:.*]] at %c0{{.*}} : <slots 2>
// CHECK-NEXT: %[[S:.*]] = tile.dot
// CHECK-NEXT: %[[SW:.*]] = tile.dot_wait %[[S]] pending 0
// CHECK-NEXT: tile.release %[[K]] at %c0
// CHECK-NEXT: math.exp
// CHECK-NEXT: %[[P:.*]] = arith.truncf
// CHECK-NEXT: %[[LOOP:.*]]:2 = scf.for %[[R:.*]] = %c1{{.*}} to %c8{{.*}} step %c1{{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[P0:.*]] = %[[P]])
// CHECK-NEXT: tile.await %[[K]] at %[[R]]
// CHECK-NEXT: %[[S:.*]] = tile.dot
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[R]], %c1
// CHECK-NEXT: tile.await %[[V:.*]] at %[[BEFORE]]
// CHECK-NEXT: %[[PV:.*]] = tile.dot %[[P0]], %{{.*}}, %[[O]] {{.*}} at %[[BEFORE]]
// CHECK-NEXT: %[[SW:.*]] = tile.dot_wait %[[S]] pending 1
// CHECK-NEXT: tile.release %[[K]] at %[[R]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[SW]]
// CHECK-NEXT: %[[OW:.*]] = tile.dot_wait %[[PV]] pending 0
// CHECK-NEXT: tile.release %[[V]] at %[[BEFORE]]
// CHECK-NEXT: %[[P1:.*]] = arith.truncf %[[E]]
// CHECK-NEXT: scf.yield %[[OW]], %[[P1]]
// Q is let go of before the last product with V.
// CHECK: tile.release %{{.*}} at %c0{{.*}} : <slots 1>
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %c8{{.*}}, %c1
// CHECK-NEXT: tile.await %[[V]] at %[[LAST]]
// CHECK-NEXT: tile.dot %[[LOOP]]#1, %{{.*}}, %[[LOOP]]#0
// CHECK: tile.release %[[V]] at %[[LAST]]

// ALONE: scf.for
// ALONE-NOT: pending 1
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = [], arg_types = [],
    arg_shapes = [], sources = array<i64>, indices = ["i", "e", "j", "d"], extents = affine_map<() -> (64, 64, 512, 64)>,
    tiles = array<i64: 64, 64, 64, 64>, grid_dims = array<i64>, warps = 4 : i64, producer_warps = 4 : i64, unit = "wgmma",
    stages = 2 : i64, in_flight = 2 : i64, target = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %none = arith.constant dense<0.0> : tensor<64x1x64x1xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64x1x1xf32>
  %q = tile.ring : <[64, 1, 1, 64] x bf16, slots 1, contiguous 3>
  %k = tile.ring : <[1, 1, 64, 64] x bf16, slots 2, contiguous 3>
  %v = tile.ring : <[1, 64, 64, 1] x bf16, slots 2, contiguous 1>
  %kfull = tile.channel : <slots 2>
  %vfull = tile.channel : <slots 2>
  %qfull = tile.channel : <slots 1>
  tile.await %qfull at %c0 : <slots 1>
  %o = scf.for %j = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (tensor<64x64x1x1xf32>) {
    tile.await %kfull at %j : <slots 2>
    %s = tile.dot %q, %k, %none m [0] n [2] k [3] at %j a_at %c0 : !tile.ring<[64, 1, 1, 64] x bf16, slots 1, contiguous 3>,
        !tile.ring<[1, 1, 64, 64] x bf16, slots 2, contiguous 3>, tensor<64x1x64x1xf32> -> tensor<64x1x64x1xf32>
    %sw = tile.dot_wait %s pending 0 : tensor<64x1x64x1xf32> -> tensor<64x1x64x1xf32>
    tile.release %kfull at %j : <slots 2>
    %e = math.exp %sw : tensor<64x1x64x1xf32>
    %p = arith.truncf %e : tensor<64x1x64x1xf32> to tensor<64x1x64x1xbf16>
    tile.await %vfull at %j : <slots 2>
    %pv = tile.dot %p, %v, %acc m [0] n [1] k [2] at %j : tensor<64x1x64x1xbf16>,
        !tile.ring<[1, 64, 64, 1] x bf16, slots 2, contiguous 1>, tensor<64x64x1x1xf32> -> tensor<64x64x1x1xf32>
    %ow = tile.dot_wait %pv pending 0 : tensor<64x64x1x1xf32> -> tensor<64x64x1x1xf32>
    tile.release %vfull at %j : <slots 2>
    scf.yield %ow : tensor<64x64x1x1xf32>
  }
  tile.release %qfull at %c0 : <slots 1>
}

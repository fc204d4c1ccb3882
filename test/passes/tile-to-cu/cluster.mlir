// Parts go to shared memory, threads share the elements out and read all blocks' in their
// order, and nobody leaves before the others have read. One number is read by each thread; a block that has read what others left says so,
// and waits for them before the cluster meets again, and at its end.
// RUN: kernelc-opt --tile-to-cu --canonicalize --cse %s | FileCheck %s
#x = affine_map<() -> (64, 4096)>
#y = affine_map<() -> (64)>
#extents = affine_map<() -> (64, 4096)>
#layout = #tile.layout<reg = [] lane = [[0, 1, 32]] warp = [[-1, 0, 4]]>
tile.func @largest attributes {arg_names = ["x", "y"], arg_shapes = [#x, #y], arg_types = ["bf16", "bf16"], cluster = 2 : i64,
    cluster_index = 1 : i64, extents = #extents, grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1>, target = "sm_90a", tiles = array<i64: 32, 1>, warps = 4 : i64} {
^bb0(%x: memref<?x?xbf16>, %y: memref<?xbf16>):
  %tile = arith.constant 32 : index
  %p = tile.program_id 0
  %i0 = arith.muli %p, %tile : index
  %rank = tile.cluster_rank
  %v = tile.load %x[%i0, %rank] map affine_map<(d0, d1) -> (d0, d1)> : memref<?x?xbf16> -> tensor<32x1xbf16, #layout>
  %m = tile.cluster_reduce max %v : tensor<32x1xbf16, #layout> -> tensor<32x1xbf16, #layout>
  tile.store %m, %y[%i0, %rank] map affine_map<(d0, d1) -> (d0)> : tensor<32x1xbf16, #layout>, memref<?xbf16>
}
// The grid counts blocks, of which two are a cluster and have one tile number.
// CHECK: %[[BLOCK:.*]] = cu.block_id
// CHECK: arith.divsi %[[BLOCK]], %c2
// CHECK: %[[PART:.*]] = cu.shared {{.*}} : memref<32xf32, 3>
// CHECK: arith.extf
// CHECK: memref.store %{{.*}}, %[[PART]]
// CHECK: cu.cluster_sync
// CHECK: %[[TOTAL:.*]] = cu.shared {{.*}} : memref<32xbf16, 3>
// CHECK: scf.for %[[B:.*]] = %c0 to %c2
// CHECK: %[[THEIRS:.*]] = cu.cluster_load %[[PART]][%{{.*}}] block %[[B]] : memref<32xf32, 3> -> f32
// CHECK: arith.truncf %[[THEIRS]]
// CHECK: arith.maximumf
// CHECK: memref.store %{{.*}}, %[[TOTAL]]
// CHECK: cu.cluster_arrive
// CHECK: memref.load %[[TOTAL]]
// CHECK: cu.cluster_wait

#one = #tile.layout<reg = [] lane = [[-1, 0, 32]] warp = [[-1, 0, 4]]>
tile.func @totals attributes {arg_names = ["x", "y"], arg_shapes = [#x, #y], arg_types = ["f32", "f32"], cluster = 2 : i64,
    cluster_index = 1 : i64, extents = #extents, grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1>, target = "sm_90a", tiles = array<i64: 1, 1>, warps = 4 : i64} {
^bb0(%x: memref<?x?xf32>, %y: memref<?xf32>):
  %p = tile.program_id 0
  %rank = tile.cluster_rank
  %v = tile.load %x[%p, %rank] map affine_map<(d0, d1) -> (d0, d1)> : memref<?x?xf32> -> tensor<1x1xf32, #one>
  %m = tile.cluster_reduce max %v : tensor<1x1xf32, #one> -> tensor<1x1xf32, #one>
  %s = tile.cluster_reduce sum %m : tensor<1x1xf32, #one> -> tensor<1x1xf32, #one>
  tile.store %s, %y[%p, %rank] map affine_map<(d0, d1) -> (d0)> : tensor<1x1xf32, #one>, memref<?xf32>
}
// CHECK-LABEL: @totals
// CHECK: cu.cluster_sync
// CHECK: cu.cluster_load
// CHECK-NOT: cu.sync
// CHECK: cu.cluster_arrive
// CHECK-NOT: cu.cluster_sync
// CHECK: cu.cluster_wait
// CHECK-NEXT: cu.cluster_sync
// CHECK: cu.cluster_load
// CHECK: cu.cluster_arrive
// CHECK: cu.cluster_wait

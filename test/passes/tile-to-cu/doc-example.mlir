// Register digits become loops over private arrays, lane and warp digits part of the
// coordinate; four neighbours are one access of 16 bytes.
// RUN: kernelc-opt --tile-to-cu --canonicalize --cse %s | FileCheck %s
#n = affine_map<() -> (2048)>
#i = affine_map<(d0) -> (d0)>
#layout = #tile.layout<reg = [[0, 1, 4], [0, 512, 2]] lane = [[0, 4, 32]] warp = [[0, 128, 4]]>
tile.func @negate attributes {arg_names = ["x", "y"], arg_shapes = [#n, #n], arg_types = ["f32", "f32"], extents = #n,
    grid_dims = array<i64: 0>, indices = ["i"], size_div = array<i64>, size_max = array<i64>, sizes = [],
    sources = array<i64: 0, 1>, tiles = array<i64: 1024>, warps = 4 : i64} {
^bb0(%x: memref<?xf32>, %y: memref<?xf32>):
  %tile = arith.constant 1024 : index
  %p = tile.program_id 0
  %i0 = arith.muli %p, %tile : index
  %v = tile.load %x[%i0] map #i : memref<?xf32> -> tensor<1024xf32, #layout>
  %w = arith.negf %v : tensor<1024xf32, #layout>
  tile.store %w, %y[%i0] map #i : tensor<1024xf32, #layout>, memref<?xf32>
}
// CHECK: cu.kernel @negate
// CHECK-SAME: shared_bytes = 0
// CHECK-SAME: threads = 128
// CHECK: ^bb0(%[[X:.*]]: memref<?xf32, 1>, %[[Y:.*]]: memref<?xf32, 1>):
// CHECK: cu.block_id
// CHECK: %[[XR:.*]] = memref.alloca() : memref<8xf32, 5>
// CHECK: scf.for
// CHECK: cu.thread_id
// CHECK: cu.copy %[[X]][%{{.*}}] to %[[XR]][%{{.*}}] count 4
// CHECK: %[[YR:.*]] = memref.alloca() : memref<8xf32, 5>
// CHECK: %[[E:.*]] = memref.load %[[XR]][%[[R:.*]]]
// CHECK: %[[N:.*]] = arith.negf %[[E]] : f32
// CHECK: memref.store %[[N]], %[[YR]][%[[R]]]
// CHECK: cu.copy %[[YR]][%{{.*}}] to %[[Y]][%{{.*}}] count 4

// Two rounds' loads at a time: the loop's second half reads while its first half is worked in, and the next turn's first half after it.
// RUN: kernelc-opt --tile-load-ahead %s | FileCheck %s

// CHECK: %[[X0:.*]] = tile.load %{{.*}}[%c0, %c0]
// CHECK: %[[X1:.*]] = tile.load
// CHECK: scf.for %[[L:.*]] = %c0 to %{{.*}} step %c4 iter_args(%[[H:.*]] = %{{.*}}, %[[A:.*]] = %[[X0]], %[[B:.*]] = %[[X1]])
// CHECK:   %[[NEXT:.*]] = arith.minsi
// CHECK:   %[[C:.*]] = tile.load
// CHECK:   %[[D:.*]] = tile.load
// CHECK:   math.tanh %[[A]]
// CHECK:   math.tanh %[[B]]
// CHECK:   %[[A2:.*]] = tile.load %{{.*}}[%c0, %[[NEXT]]]
// CHECK:   %[[B2:.*]] = tile.load
// CHECK:   math.tanh %[[C]]
// CHECK:   math.tanh %[[D]]
// CHECK:   scf.yield %{{.*}}, %[[A2]], %[[B2]]
#il = affine_map<(d0, d1) -> (d0, d1)>
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = ["x", "y"], arg_types = ["f32", "f32"],
    arg_shapes = [affine_map<() -> (32, 64)>, affine_map<() -> (32)>], sources = array<i64: 0, 1>, indices = ["i", "l"],
    extents = affine_map<() -> (32, 64)>, tiles = array<i64: 32, 1>, grid_dims = array<i64: 0>, warps = 1 : i64, ahead = 2 : i64,
    target = "sm_90a"} {
^bb0(%x: memref<?x?xf32>, %y: memref<?xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant dense<0.0> : tensor<32x1xf32>
  %h = scf.for %l = %c0 to %c64 step %c1 iter_args(%before = %none) -> (tensor<32x1xf32>) {
    %e = tile.load %x[%c0, %l] map #il : memref<?x?xf32> -> tensor<32x1xf32>
    %t = math.tanh %e : tensor<32x1xf32>
    %next = arith.mulf %before, %t : tensor<32x1xf32>
    scf.yield %next : tensor<32x1xf32>
  }
  tile.store %h, %y[%c0, %c0] map affine_map<(d0, d1) -> (d0)> : tensor<32x1xf32>, memref<?xf32>
}

// Tensors with strides of their own: x in rows that start at multiples of 16 bytes keeps
// its vectors, y is written element by element, z starts at 8-byte multiples only.
// RUN: kernelc-opt --tile-to-cu --canonicalize --cse %s | FileCheck %s
#n = affine_map<()[s0, s1, s2] -> (8, 128)>
#e = affine_map<()[s0, s1, s2] -> (8, 128)>
#rows = affine_map<()[s0, s1, s2] -> (s0, 1)>
#any = affine_map<()[s0, s1, s2] -> (s1, s2)>
#ij = affine_map<(d0, d1)[s0, s1, s2] -> (d0, d1)>
#layout = #tile.layout<reg = [[1, 1, 4]] lane = [[1, 4, 32]] warp = [[0, 1, 8]]>
tile.func @copy attributes {arg_names = ["x", "y", "z"], arg_shapes = [#n, #n, #n], arg_types = ["f32", "f32", "f32"],
    arg_strides = [#rows, #any, unit], arg_alignment = array<i64: 16, 16, 8>, extents = #e,
    grid_dims = array<i64: 0>, indices = ["i", "j"], size_div = array<i64: 4, 1, 1>, size_max = array<i64: -1, -1, -1>,
    sizes = ["x_stride0", "y_stride0", "y_stride1"], sources = array<i64: 0, 1, 2>, tiles = array<i64: 8, 128>, warps = 8 : i64} {
^bb0(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  %v = tile.load %x[%zero, %zero] map #ij : memref<?x?xf32> -> tensor<8x128xf32, #layout>
  tile.store %v, %y[%zero, %zero] map #ij : tensor<8x128xf32, #layout>, memref<?x?xf32>
  tile.store %v, %z[%zero, %zero] map #ij : tensor<8x128xf32, #layout>, memref<?x?xf32>
}
// CHECK: cu.kernel @copy
// CHECK: ^bb0(%[[X:.*]]: memref<?xf32, 1>, %[[Y:.*]]: memref<?xf32, 1>, %[[Z:.*]]: memref<?xf32, 1>, %[[XS:.*]]: index, %[[Y0:.*]]: index, %[[Y1:.*]]: index):
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %[[XS]] : index
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]]
// CHECK: cu.copy %[[X]][%[[AT]]] to %{{.*}} count 4
// CHECK: arith.muli %{{.*}}, %[[Y0]] : index
// CHECK: arith.muli %{{.*}}, %[[Y1]] : index
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: cu.copy %{{.*}} to %[[Z]][%{{.*}}] count 2

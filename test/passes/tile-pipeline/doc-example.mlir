// Three slots: two tiles are on their way before the loop, one more starts while tile t
// is multiplied.
// RUN: kernelc-opt --tile-pipeline --canonicalize %s | FileCheck %s
#ab = affine_map<()[s0] -> (16, s0)>
#cc = affine_map<()[s0] -> (16, 16)>
#extents = affine_map<()[s0] -> (16, 16, s0)>
#tiles = affine_map<()[s0] -> (s0 ceildiv 32)>
#k0 = affine_map<(d0)[s0] -> (d0 * 32)>
#ik = affine_map<(d0, d1, d2)[s0] -> (d0, d2)>
#jk = affine_map<(d0, d1, d2)[s0] -> (d1, d2)>
#ij = affine_map<(d0, d1, d2)[s0] -> (d0, d1)>
tile.func @product attributes {arg_names = ["a", "b", "c"], arg_shapes = [#ab, #ab, #cc], arg_types = ["bf16", "bf16", "f32"],
    extents = #extents, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64: 8>, size_max = array<i64: -1>,
    sizes = ["K"], sources = array<i64: 0, 1, 2>, stages = 3 : i64, tiles = array<i64: 16, 16, 32>, unit = "mma", warps = 1 : i64} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %count = tile.apply #tiles()
  %acc = scf.for %t = %zero to %count step %one iter_args(%sum = %init) -> tensor<16x16x1xf32> {
    %k = tile.apply #k0(%t)
    %x = tile.load %a[%zero, %zero, %k] map #ik {mask = array<i64: 2>} : memref<?x?xbf16> -> tensor<16x1x32xbf16>
    %y = tile.load %b[%zero, %zero, %k] map #jk {mask = array<i64: 2>} : memref<?x?xbf16> -> tensor<1x16x32xbf16>
    %next = tile.dot %x, %y, %sum m [0] n [1] k [2]
        : tensor<16x1x32xbf16>, tensor<1x16x32xbf16>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
    scf.yield %next : tensor<16x16x1xf32>
  }
  tile.store %acc, %c[%zero, %zero, %zero] map #ij : tensor<16x16x1xf32>, memref<?x?xf32>
}
// CHECK: %[[COUNT:.*]] = tile.apply
// CHECK: %[[X:.*]] = tile.ring : <[16, 1, 32] x bf16, slots 3, contiguous 2>
// CHECK: %[[Y:.*]] = tile.ring : <[1, 16, 32] x bf16, slots 3, contiguous 2>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c2
// CHECK: scf.if
// CHECK: tile.ring_copy %[[X]] at %[[FIRST]]
// CHECK: tile.ring_copy %[[Y]] at %[[FIRST]]
// CHECK: tile.async_commit
// CHECK-NEXT: } {cu.unroll}
// CHECK: tile.async_wait 1
// CHECK-NEXT: tile.barrier
// CHECK: scf.for %[[T:.*]] = %c0 to %[[COUNT]]
// CHECK: %[[AHEAD:.*]] = arith.addi %[[T]], %c2
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[AHEAD]], %[[COUNT]]
// CHECK: scf.if %[[MORE]]
// CHECK: tile.ring_copy %[[X]] at %[[AHEAD]]
// CHECK: tile.ring_copy %[[Y]] at %[[AHEAD]]
// CHECK: tile.async_commit
// CHECK: tile.dot %[[X]], %[[Y]], %{{.*}} m [0] n [1] k [2] at %[[T]]
// CHECK-NEXT: tile.async_wait 1
// CHECK-NEXT: tile.barrier
// CHECK: tile.async_wait 0

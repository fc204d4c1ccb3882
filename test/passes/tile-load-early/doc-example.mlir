// A row of biases is asked for before the loop of its product; the rest of the epilogue stays.
// RUN: kernelc-opt --tile-load-early %s | FileCheck %s

// CHECK: %[[J:.*]] = arith.addi
// CHECK-NEXT: %[[ROW:.*]] = tile.load %{{.*}}[%{{.*}}, %[[J]], %{{.*}}] {{.*}} -> tensor<1x64x1xbf16>
// CHECK-NEXT: %[[SUM:.*]] = scf.for
// CHECK: tile.dot %
// CHECK: tile.broadcast %[[ROW]]
#row = affine_map<(d0, d1, d2) -> (d1)>
#ij = affine_map<(d0, d1, d2) -> (d0, d1)>
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = ["d", "c"],
    arg_types = ["bf16", "bf16"], arg_shapes = [affine_map<() -> (64)>, affine_map<() -> (64, 64)>], sources = array<i64: 0, 1>,
    indices = ["i", "j", "k"], extents = affine_map<() -> (64, 64, 512)>, tiles = array<i64: 64, 64, 64>, grid_dims = array<i64>,
    warps = 4 : i64, producer_warps = 4 : i64, unit = "wgmma", stages = 4 : i64, target = "sm_90a"} {
^bb0(%d: memref<?xbf16>, %c: memref<?x?xbf16>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<64x64x1xbf16>
  %a = tile.ring : <[64, 1, 64] x bf16, slots 4, contiguous 2>
  %b = tile.ring : <[1, 64, 64] x bf16, slots 4, contiguous 2>
  %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (tensor<64x64x1xbf16>) {
    %p = tile.dot %a, %b, %acc m [0] n [1] k [2] at %k : !tile.ring<[64, 1, 64] x bf16, slots 4, contiguous 2>,
        !tile.ring<[1, 64, 64] x bf16, slots 4, contiguous 2>, tensor<64x64x1xbf16> -> tensor<64x64x1xbf16>
    scf.yield %p : tensor<64x64x1xbf16>
  }
  %j = arith.addi %c0, %c0 : index
  %row = tile.load %d[%c0, %j, %c0] map #row : memref<?xbf16> -> tensor<1x64x1xbf16>
  %rows = tile.broadcast %row : tensor<1x64x1xbf16> -> tensor<64x64x1xbf16>
  %y = arith.addf %sum, %rows : tensor<64x64x1xbf16>
  tile.store %y, %c[%c0, %c0, %c0] map #ij : tensor<64x64x1xbf16>, memref<?x?xbf16>
}

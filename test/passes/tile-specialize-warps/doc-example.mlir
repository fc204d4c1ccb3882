// RUN: kernelc-opt %s -pass-pipeline='builtin.module(tile.func(tile-specialize-warps))' | FileCheck %s

// CHECK: tile.channel
// CHECK: tile.roles producer registers 56 {
// CHECK:   scf.for
// CHECK:     tile.acquire
// CHECK-NOT: tile.await
// CHECK: } consumer registers 224 {
// CHECK:   scf.for
// CHECK-NOT: tile.acquire
// CHECK:     tile.await
// CHECK:     tile.release
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = [], arg_types = [],
    arg_shapes = [], sources = array<i64>, indices = [], extents = affine_map<() -> ()>, tiles = array<i64>,
    grid_dims = array<i64>, warps = 8 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %channel = tile.channel : <slots 2>
  scf.for %t = %c0 to %c9 step %c1 {
    tile.acquire %channel at %t bytes 0 : <slots 2>
    tile.await %channel at %t : <slots 2>
    tile.release %channel at %t : <slots 2>
  }
}

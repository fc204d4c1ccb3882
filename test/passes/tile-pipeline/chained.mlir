// Two products in one launch: the rows of the first are filled once for each of the block's tiles, its columns and the second's rows once a
// round, each ring until its last reader is done; what the products leave in registers keeps a layout of its own.
// RUN: kernelc-opt --tile-pipeline %s | FileCheck %s
// RUN: kernelc-opt --tile-pipeline --tile-specialize-warps --canonicalize --cse --tile-layouts %s | FileCheck %s --check-prefix=LAYOUT

// CHECK-DAG:     %[[V:.*]] = tile.ring : <[1, 1, 64, 1, 64] x bf16, slots 3
// CHECK-DAG:     %[[Q:.*]] = tile.ring : <[1, 128, 1, 64, 1] x bf16, slots 1
// CHECK-DAG:     %[[K:.*]] = tile.ring : <[1, 1, 64, 64, 1] x bf16, slots 3
// CHECK:         scf.for %{{.*}} iter_args(%[[TILE:.*]] = %{{.*}}, %[[ROUNDS:.*]] = %{{.*}})
// CHECK:           tile.acquire %[[QC:.*]] at %[[TILE]] bytes 16384
// CHECK:           tile.ring_copy %[[Q]] at %[[TILE]]
// CHECK:           tile.await %[[QC]] at %[[TILE]]
// CHECK:           scf.for %[[J:[a-z0-9]*]] =
// CHECK:             %[[N:.*]] = arith.addi %[[ROUNDS]], %[[J]]
// CHECK:             tile.ring_copy %[[K]] at %[[N]]
// CHECK:             tile.await %[[KC:.*]] at %[[N]]
// CHECK:             %[[S:.*]] = tile.dot %[[Q]], %[[K]], {{.*}} at %[[N]] a_at %[[TILE]]
// CHECK-NEXT:        tile.dot_wait %[[S]] pending 0
// CHECK-NEXT:        tile.release %[[KC]] at %[[N]]
// CHECK:             tile.ring_copy %[[V]] at %[[M:.*]] from
// CHECK:             tile.dot {{.*}}, %[[V]], {{.*}} at %[[M]]
// CHECK:             tile.release
// CHECK:           }
// CHECK-NEXT:      tile.dot_wait {{.*}}#2 pending 0
// CHECK-NEXT:      tile.release %[[QC]] at %[[TILE]]

// LAYOUT:      scf.for {{.*}} -> (tensor<1x128x1x1x1xf32, #[[ROWS:.*]]>, tensor<1x128x1x1x1xf32, #[[ROWS]]>, tensor<1x128x1x1x64xf32, #[[OUT:.*]]>
// LAYOUT:      tile.broadcast {{.*}} : tensor<1x128x1x1x1xf32, #[[ROWS]]> -> tensor<1x128x64x1x1xf32, #[[SCORES:.*]]>
// LAYOUT-NOT:  tile.convert_layout
// LAYOUT:      tile.broadcast {{.*}} : tensor<1x128x1x1x1xf32, #[[ROWS]]> -> tensor<1x128x1x1x64xf32, #[[OUT]]>

#q = affine_map<() -> (2, 256, 64)>
#kv = affine_map<() -> (2, 256, 64)>
#ext = affine_map<() -> (2, 256, 256, 64, 64)>
#qm = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#km = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3)>
#vm = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>
#om = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
#n = affine_map<() -> (4)>
#t4 = affine_map<() -> (4)>
#j = affine_map<(d0) -> (d0 * 64)>
tile.func @kc_att attributes {arg_names = ["q", "k", "v", "o"], arg_shapes = [#q, #kv, #kv, #q], arg_types = ["bf16", "bf16", "bf16",
    "bf16"], cluster_index = 1 : i64, extents = #ext, grid_dims = array<i64: 0, 1>, indices = ["b", "i", "j", "d", "e"],
    kernel = "att", number = 0 : i64, persistent = true, producer_warps = 4 : i64, size_div = array<i64>, size_max = array<i64>,
    sizes = [], sources = array<i64: 0, 1, 2, 3>, stages = 3 : i64, target = "sm_90a", tiles = array<i64: 1, 128, 64, 64, 64>,
    unit = "wgmma", warps = 8 : i64} {
^bb0(%q: memref<?x?x?xbf16>, %k: memref<?x?x?xbf16>, %v: memref<?x?x?xbf16>, %o: memref<?x?x?xbf16>):
  %zs = arith.constant dense<0.0> : tensor<1x128x64x1x1xf32>
  %zo = arith.constant dense<0.0> : tensor<1x128x1x1x64xf32>
  %zl = arith.constant dense<0.0> : tensor<1x128x1x1x1xf32>
  %zm = arith.constant dense<-1.0e+30> : tensor<1x128x1x1x1xf32>
  %sc = arith.constant dense<0.125> : tensor<1x128x64x1x1xf32>
  %c128 = arith.constant 128 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = tile.apply #t4()
  %b = tile.block_id
  %nb = tile.num_blocks
  scf.for %t = %b to %end step %nb {
    %b0 = tile.program_id 0 of %t
    %it = tile.program_id 1 of %t
    %i0 = arith.muli %it, %c128 : index
    %qt = tile.load %q[%b0, %i0, %c0, %c0, %c0] map #qm : memref<?x?x?xbf16> -> tensor<1x128x1x64x1xbf16>
    %nj = tile.apply #n()
    %r:3 = scf.for %jt = %c0 to %nj step %c1 iter_args(%m = %zm, %l = %zl, %acc = %zo) -> (tensor<1x128x1x1x1xf32>, tensor<1x128x1x1x1xf32>, tensor<1x128x1x1x64xf32>) {
      %j0 = tile.apply #j(%jt)
      %kt = tile.load %k[%b0, %i0, %j0, %c0, %c0] map #km : memref<?x?x?xbf16> -> tensor<1x1x64x64x1xbf16>
      %s0 = tile.dot %qt, %kt, %zs m [1] n [2] k [3] : tensor<1x128x1x64x1xbf16>, tensor<1x1x64x64x1xbf16>, tensor<1x128x64x1x1xf32> -> tensor<1x128x64x1x1xf32>
      %s = arith.mulf %s0, %sc : tensor<1x128x64x1x1xf32>
      %mx = tile.reduce max %s dims [2] : tensor<1x128x64x1x1xf32> -> tensor<1x128x1x1x1xf32>
      %m2 = tile.combine max %m, %mx : tensor<1x128x1x1x1xf32>, tensor<1x128x1x1x1xf32> -> tensor<1x128x1x1x1xf32>
      %mb = tile.broadcast %m2 : tensor<1x128x1x1x1xf32> -> tensor<1x128x64x1x1xf32>
      %d = arith.subf %s, %mb : tensor<1x128x64x1x1xf32>
      %p = math.exp %d : tensor<1x128x64x1x1xf32>
      %ls = tile.reduce sum %p dims [2] : tensor<1x128x64x1x1xf32> -> tensor<1x128x1x1x1xf32>
      %dm = arith.subf %m, %m2 : tensor<1x128x1x1x1xf32>
      %f = math.exp %dm : tensor<1x128x1x1x1xf32>
      %lf = arith.mulf %l, %f : tensor<1x128x1x1x1xf32>
      %l2 = arith.addf %lf, %ls : tensor<1x128x1x1x1xf32>
      %fb = tile.broadcast %f : tensor<1x128x1x1x1xf32> -> tensor<1x128x1x1x64xf32>
      %af = arith.mulf %acc, %fb : tensor<1x128x1x1x64xf32>
      %pb = arith.truncf %p : tensor<1x128x64x1x1xf32> to tensor<1x128x64x1x1xbf16>
      %vt = tile.load %v[%b0, %i0, %j0, %c0, %c0] map #vm : memref<?x?x?xbf16> -> tensor<1x1x64x1x64xbf16>
      %o2 = tile.dot %pb, %vt, %af m [1] n [4] k [2] : tensor<1x128x64x1x1xbf16>, tensor<1x1x64x1x64xbf16>, tensor<1x128x1x1x64xf32> -> tensor<1x128x1x1x64xf32>
      scf.yield %m2, %l2, %o2 : tensor<1x128x1x1x1xf32>, tensor<1x128x1x1x1xf32>, tensor<1x128x1x1x64xf32>
    }
    %lb = tile.broadcast %r#1 : tensor<1x128x1x1x1xf32> -> tensor<1x128x1x1x64xf32>
    %on = arith.divf %r#2, %lb : tensor<1x128x1x1x64xf32>
    %ob = arith.truncf %on : tensor<1x128x1x1x64xf32> to tensor<1x128x1x1x64xbf16>
    tile.store %ob, %o[%b0, %i0, %c0, %c0, %c0] map #om : tensor<1x128x1x1x64xbf16>, memref<?x?x?xbf16>
  }
}

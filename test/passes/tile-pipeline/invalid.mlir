// RUN: kernelc-opt --tile-pipeline %s -split-input-file -verify-diagnostics

#ab = affine_map<() -> (16, 32)>
#cc = affine_map<() -> (16, 16)>
#ik = affine_map<(d0, d1, d2) -> (d0, d2)>
#jk = affine_map<(d0, d1, d2) -> (d1, d2)>
tile.func @no_loop attributes {arg_names = ["a", "b", "c"], arg_shapes = [#ab, #ab, #cc], arg_types = ["bf16", "bf16", "f32"],
    extents = affine_map<() -> (16, 16, 32)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1, 2>, stages = 2 : i64, tiles = array<i64: 16, 16, 32>, unit = "mma",
    warps = 1 : i64} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  %init = arith.constant dense<0.0> : tensor<16x16x1xf32>
  %x = tile.load %a[%zero, %zero, %zero] map #ik : memref<?x?xbf16> -> tensor<16x1x32xbf16>
  %y = tile.load %b[%zero, %zero, %zero] map #jk : memref<?x?xbf16> -> tensor<1x16x32xbf16>
  // expected-error @+1 {{stands in no loop over its reduced indices}}
  %acc = tile.dot %x, %y, %init m [0] n [1] k [2] : tensor<16x1x32xbf16>, tensor<1x16x32xbf16>, tensor<16x16x1xf32> -> tensor<16x16x1xf32>
  tile.store %acc, %c[%zero, %zero, %zero] map affine_map<(d0, d1, d2) -> (d0, d1)> : tensor<16x16x1xf32>, memref<?x?xf32>
}

// -----

// A warp that fills rings cannot compute what goes into them; only the first operand may come from registers.
#ab = affine_map<() -> (64, 64)>
#ik = affine_map<(d0, d1, d2) -> (d0, d2)>
#jk = affine_map<(d0, d1, d2) -> (d1, d2)>
tile.func @computed_operand attributes {arg_names = ["a", "b", "c"], arg_shapes = [#ab, #ab, #ab], arg_types = ["bf16", "bf16", "f32"],
    extents = affine_map<() -> (64, 64, 64)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1, 2>, stages = 2 : i64, tiles = array<i64: 64, 64, 64>, unit = "wgmma",
    warps = 4 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %acc = scf.for %t = %zero to %one step %one iter_args(%sum = %init) -> tensor<64x64x1xf32> {
    %x = tile.load %a[%zero, %zero, %t] map #ik : memref<?x?xbf16> -> tensor<64x1x64xbf16>
    %y = tile.load %b[%zero, %zero, %t] map #jk : memref<?x?xbf16> -> tensor<1x64x64xbf16>
    %neg = arith.negf %y : tensor<1x64x64xbf16>
    // expected-error @+1 {{needs operands that are loaded as they stand, the first perhaps computed from such: producer warps only copy}}
    %next = tile.dot %x, %neg, %sum m [0] n [1] k [2] : tensor<64x1x64xbf16>, tensor<1x64x64xbf16>, tensor<64x64x1xf32> -> tensor<64x64x1xf32>
    scf.yield %next : tensor<64x64x1xf32>
  }
  tile.store %acc, %c[%zero, %zero, %zero] map affine_map<(d0, d1, d2) -> (d0, d1)> : tensor<64x64x1xf32>, memref<?x?xf32>
}

// -----

// Other units take no operand from registers.
#ab = affine_map<() -> (64, 64)>
#ik = affine_map<(d0, d1, d2) -> (d0, d2)>
#jk = affine_map<(d0, d1, d2) -> (d1, d2)>
tile.func @computed_for_mma attributes {arg_names = ["a", "b", "c"], arg_shapes = [#ab, #ab, #ab], arg_types = ["bf16", "bf16", "f32"],
    extents = affine_map<() -> (64, 64, 64)>, grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], size_div = array<i64>,
    size_max = array<i64>, sizes = [], sources = array<i64: 0, 1, 2>, stages = 2 : i64, tiles = array<i64: 64, 64, 64>, unit = "mma",
    warps = 4 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
^bb0(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant dense<0.0> : tensor<64x64x1xf32>
  %acc = scf.for %t = %zero to %one step %one iter_args(%sum = %init) -> tensor<64x64x1xf32> {
    %x = tile.load %a[%zero, %zero, %t] map #ik : memref<?x?xbf16> -> tensor<64x1x64xbf16>
    %y = tile.load %b[%zero, %zero, %t] map #jk : memref<?x?xbf16> -> tensor<1x64x64xbf16>
    %neg = arith.negf %x : tensor<64x1x64xbf16>
    // expected-error @+1 {{computes its first operand, which unit mma takes from shared memory: no warp that only copies can fill it; use the unit wgmma, or no producer warps}}
    %next = tile.dot %neg, %y, %sum m [0] n [1] k [2] : tensor<64x1x64xbf16>, tensor<1x64x64xbf16>, tensor<64x64x1xf32> -> tensor<64x64x1xf32>
    scf.yield %next : tensor<64x64x1xf32>
  }
  tile.store %acc, %c[%zero, %zero, %zero] map affine_map<(d0, d1, d2) -> (d0, d1)> : tensor<64x64x1xf32>, memref<?x?xf32>
}

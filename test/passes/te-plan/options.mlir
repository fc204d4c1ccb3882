// The target and what is known of the sizes choose tiles and unit.
// RUN: kernelc-opt --te-plan="target=sm_80 size-div=8,8,8" %s | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: kernelc-opt --te-plan="target=sm_90a size-div=8,8,8" %s | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: kernelc-opt --te-plan="target=sm_80 size-max=4096,4096,16" %s | FileCheck %s --check-prefixes=CHECK,SHORT
// RUN: kernelc-opt --te-plan %s | FileCheck %s --check-prefixes=CHECK,DEFAULT
// CHECK-LABEL: te.kernel @product
// AMPERE-SAME: unit = "mma"
// HOPPER-SAME: producer_warps = 4
// HOPPER-SAME: unit = "wgmma"
// A bounded index has no larger tile than its bound.
// SHORT-SAME: tiles = array<i64: {{[0-9]+}}, {{[0-9]+}}, 16>
// AMPERE-SAME: size_div = array<i64: 8, 8, 8>
// SHORT-SAME: size_max = array<i64: 4096, 4096, 16>
// DEFAULT-SAME: size_div = array<i64: 1, 1, 1>, size_max = array<i64: -1, -1, -1>, target = "sm_80"
te.kernel @product sizes ["M", "N", "K"] args ["a", "b"] : ["bf16", "bf16"]
    [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (s1, s2)>]
    outs ["c"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s1, s2)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<?x?xbf16>
    %v = te.read %b[%j, %k] : tensor<?x?xbf16>
    %uf = arith.extf %u : bf16 to f32
    %vf = arith.extf %v : bf16 to f32
    %w = arith.mulf %uf, %vf : f32
    te.yield %w : f32
  } {name = "c"} : tensor<?x?xf32>
  te.return %c : tensor<?x?xf32>
}

// RUN: not kernelc-opt --te-chain-products="target=sm_1" %s 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kernelc-opt --te-chain-products="target=sm_90a size-div=0" %s 2>&1 | FileCheck %s --check-prefix=DIVISOR
// TARGET: :[[#@LINE+2]]:1: error: unknown target 'sm_1'
// DIVISOR: error: size-div: 0 divides no size 'M'; 1 says nothing
te.kernel @k sizes ["M"] args ["a", "b"] : ["bf16", "bf16"] [affine_map<()[s0] -> (s0, 8)>, affine_map<()[s0] -> (s0, 8)>]
    outs ["c"] : ["f32"] [affine_map<()[s0] -> (s0, s0)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0] -> (s0, s0, 8)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<?x?xbf16>
    %v = te.read %b[%j, %k] : tensor<?x?xbf16>
    %x = arith.extf %u : bf16 to f32
    %y = arith.extf %v : bf16 to f32
    %w = arith.mulf %x, %y : f32
    te.yield %w : f32
  } {name = "c"} : tensor<?x?xf32>
  te.return %c : tensor<?x?xf32>
}

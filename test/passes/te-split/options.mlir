// RUN: kernelc-opt --te-split="size-div=64" %s | FileCheck %s --check-prefix=DIV
// RUN: kernelc-opt --te-split %s | FileCheck %s --check-prefix=NONE

// The variant's divisor is what allows the split.
// DIV: te.reduce sum ["i", "k_high", "k_low"] parallel 1
// NONE: te.reduce sum ["i", "k"] parallel 1
te.kernel @groups sizes ["K", "M"] args ["x", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s1, s0)>, affine_map<()[s0, s1] -> (s0 floordiv 64)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?xf32>, %s: tensor<?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    %w = te.read %s[%k] map affine_map<(d0)[s0, s1] -> (d0 floordiv 64)> : tensor<?xf32>
    %p = arith.mulf %v, %w : f32
    te.yield %p : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// So does a requirement.
// NONE-LABEL: te.kernel @required
// NONE: te.reduce max ["k_high", "k_low"] parallel 0
te.kernel @required sizes ["K"] args ["s"] : ["f32"] [affine_map<()[s0] -> (s0 floordiv 64)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> ()>] attributes {requirement_texts = ["K % 64 == 0"], requirements = [affine_set<()[s0] : (s0 mod 64 == 0)>]} {
^bb0(%s: tensor<?xf32>):
  %y = te.reduce max ["k"] parallel 0 extents affine_map<()[s0] -> (s0)> {
  ^bb0(%k: index):
    %w = te.read %s[%k] map affine_map<(d0)[s0] -> (d0 floordiv 64)> : tensor<?xf32>
    te.yield %w : f32
  } : tensor<f32>
  te.return %y : tensor<f32>
}

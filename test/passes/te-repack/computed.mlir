// Weights of 8 bits, scaled: written as bf16, K last, before the product; x is read as it is.
// RUN: kernelc-opt --te-repack="target=sm_90a" %s | FileCheck %s
te.kernel @linear sizes [] args ["x", "w", "s"] : ["bf16", "i8", "f32"]
    [affine_map<() -> (4096, 4096)>, affine_map<() -> (4096, 2052)>, affine_map<() -> (4096)>]
    outs ["c"] : ["f32"] [affine_map<() -> (4096, 2052)>] {
^bb0(%x: tensor<4096x4096xbf16>, %w: tensor<4096x2052xi8>, %s: tensor<4096xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (4096, 2052, 4096)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %x[%i, %k] : tensor<4096x4096xbf16>
    %v = te.read %w[%k, %j] : tensor<4096x2052xi8>
    %t = te.read %s[%k] : tensor<4096xf32>
    %a = arith.extf %u : bf16 to f32
    %f = arith.sitofp %v : i8 to f32
    %g = arith.mulf %f, %t : f32
    %h = arith.truncf %g : f32 to bf16
    %b = arith.extf %h : bf16 to f32
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } {name = "c"} : tensor<4096x2052xf32>
  te.return %c : tensor<4096x2052xf32>
}
// CHECK: #[[DOMAIN:.*]] = affine_map<() -> (2052, 4096)>
// CHECK-LABEL: te.kernel @linear
// CHECK: %[[P:.*]] = te.compute ["j", "k"] extents #[[DOMAIN]]
// CHECK: arith.mulf
// CHECK: %[[B:.*]] = arith.truncf
// CHECK: te.yield %[[B]] : bf16
// CHECK: name = "w_rows"
// CHECK: te.reduce sum
// CHECK-NOT: arith.truncf
// CHECK: te.read %[[P]]

// RUN: kernelc-opt --te-precision-cast="policy=contract=f16" %s | FileCheck %s --check-prefix=F16
// RUN: kernelc-opt --te-precision-cast="policy=rel=1e-2" %s | FileCheck %s --check-prefix=LOOSE
// RUN: kernelc-opt --te-precision-cast="policy=rel=1e-3" %s | FileCheck %s --check-prefix=MIDDLE
// RUN: kernelc-opt --te-precision-cast="policy=rel=1e-5" %s | FileCheck %s --check-prefix=TIGHT

// The option takes the place of the kernel's policy.
// F16: arith.truncf %{{.*}} : f32 to f16
// 2 u + u^2 + 64 * 2^-23: 7.8e-3 for bf16, 9.8e-4 for tf32. f16 may overflow.
// LOOSE: arith.truncf %{{.*}} : f32 to bf16
// LOOSE: precision = "the product of 'c' rounds its operands to bf16: the error is at most 0.0078 of the sum of |a b| over up to 64 terms, rel = 0.01 allows it"
// MIDDLE: te.round
// MIDDLE: precision = "the product of 'c' rounds its operands to tf32
// TIGHT-NOT: te.round
// TIGHT: precision = "the product of 'c' stays f32: rel = 1e-05 is less than the error of tf32, 0.00098 over up to 64 terms
te.kernel @k sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "tf32"}} {
^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %ar = te.read %a[%i, %k] : tensor<8x64xf32>
    %br = te.read %b[%j, %k] : tensor<8x64xf32>
    %p = arith.mulf %ar, %br : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

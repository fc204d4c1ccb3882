// RUN: kernelc-opt --te-precision-cast %s | FileCheck %s

// The number of terms is not known: no bound can be promised.
// CHECK-LABEL: te.kernel @unknown
// CHECK-NOT: te.round
// CHECK: precision = "the product of 'c' stays f32: the number of its terms has no bound that is known
// A requirement bounds it: 4096 * 2^-23 on top of 9.8e-4.
// CHECK-LABEL: te.kernel @bounded
// CHECK: te.round
// CHECK: precision = "the product of 'c' rounds its operands to tf32: the error is at most 0.0015 of the sum of |a b| over up to 4096 terms
te.kernel @unknown sizes ["K"] args ["a", "b"] : ["f32", "f32"] [affine_map<()[s0] -> (8, s0)>, affine_map<()[s0] -> (8, s0)>]
    outs ["c"] : ["f32"] [affine_map<()[s0] -> (8, 8)>] attributes {precision = {tolerance = 2.0e-3 : f64}} {
^bb0(%a: tensor<8x?xf32>, %b: tensor<8x?xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0] -> (8, 8, s0)> {
  ^bb0(%i: index, %j: index, %k: index):
    %x = te.read %a[%i, %k] : tensor<8x?xf32>
    %y = te.read %b[%j, %k] : tensor<8x?xf32>
    %p = arith.mulf %x, %y : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}
te.kernel @bounded sizes ["K"] args ["a", "b"] : ["f32", "f32"] [affine_map<()[s0] -> (8, s0)>, affine_map<()[s0] -> (8, s0)>]
    outs ["c"] : ["f32"] [affine_map<()[s0] -> (8, 8)>] attributes {requirements = [affine_set<()[s0] : (s0 - 1 >= 0, 4096 - s0 >= 0)>], requirement_texts = ["K <= 4096"], precision = {tolerance = 2.0e-3 : f64}} {
^bb0(%a: tensor<8x?xf32>, %b: tensor<8x?xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0] -> (8, 8, s0)> {
  ^bb0(%i: index, %j: index, %k: index):
    %x = te.read %a[%i, %k] : tensor<8x?xf32>
    %y = te.read %b[%j, %k] : tensor<8x?xf32>
    %p = arith.mulf %x, %y : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

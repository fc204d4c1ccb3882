// Casts to f8 saturate. How sums are added is the kernel's, and changes no body.
// RUN: kernelc-opt --te-precision-cast %s | FileCheck %s
// CHECK-LABEL: te.kernel @f8
// CHECK-SAME: fast_accumulate, precision_applied = "contract = f8e5m2, accumulate = fast"
// CHECK: %[[A:.*]] = te.convert %{{.*}} : f32 to f8E5M2
// CHECK: %[[X:.*]] = arith.extf %[[A]] : f8E5M2 to f32
// CHECK: %[[B:.*]] = te.convert %{{.*}} : f32 to f8E5M2
// CHECK: %[[Y:.*]] = arith.extf %[[B]] : f8E5M2 to f32
// CHECK: arith.mulf %[[X]], %[[Y]] : f32
te.kernel @f8 sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {accumulate = "fast", contract = "f8e5m2"}} {
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

// A scale that no summed index is in stands beside the factors, not among them.
// CHECK-LABEL: te.kernel @scaled
// CHECK: %[[S:.*]] = te.read %{{.*}}[%{{.*}}] : tensor<8xf32>
// CHECK-NOT: te.convert %[[S]]
// CHECK-COUNT-2: te.convert
// CHECK-NOT: te.convert
te.kernel @scaled sizes [] args ["a", "s", "b"] : ["f32", "f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "f8e4m3"}} {
^bb0(%a: tensor<8x64xf32>, %s: tensor<8xf32>, %b: tensor<8x64xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %sr = te.read %s[%i] : tensor<8xf32>
    %ar = te.read %a[%i, %k] : tensor<8x64xf32>
    %br = te.read %b[%j, %k] : tensor<8x64xf32>
    %p = arith.mulf %ar, %br : f32
    %q = arith.mulf %p, %sr : f32
    te.yield %q : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

// RUN: kernelc-opt --te-precision-cast %s | FileCheck %s

// CHECK-LABEL: te.kernel @tf32
// CHECK-SAME: precision_applied = "contract = tf32"
// CHECK-NOT: precision =
// CHECK: %[[A:.*]] = te.round %{{.*}} to tf32 : f32
// CHECK: %[[B:.*]] = te.round %{{.*}} to tf32 : f32
// CHECK: arith.mulf %[[A]], %[[B]] : f32
te.kernel @tf32 sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
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

// CHECK-LABEL: te.kernel @bf16
// CHECK: %[[A:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[X:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK: %[[B:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[Y:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK: arith.mulf %[[X]], %[[Y]] : f32
te.kernel @bf16 sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "bf16"}} {
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

// What is a tf32 already is left alone.
// CHECK-LABEL: te.kernel @one_side
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[A:.*]] = te.round
// CHECK-NOT: te.round
// CHECK: arith.mulf %[[A]], %[[B]] : f32
te.kernel @one_side sizes [] args ["a", "b"] : ["f32", "f16"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "tf32"}} {
^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %ar = te.read %a[%i, %k] : tensor<8x64xf32>
    %br = te.read %b[%j, %k] : tensor<8x64xf16>
    %bv = arith.extf %br : f16 to f32
    %p = arith.mulf %ar, %bv : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

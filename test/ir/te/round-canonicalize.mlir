// RUN: kernelc-opt --canonicalize %s | FileCheck %s

// What is a tf32 already is not rounded again.
// CHECK: arith.extf
// CHECK-NOT: te.round
// CHECK: %[[R:.*]] = te.round
// CHECK-NOT: te.round
// CHECK: arith.mulf %{{.*}}, %[[R]]
te.kernel @f sizes ["N"] args ["x", "h"] : ["f32", "f16"] [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>, %h: tensor<?xf16>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %u = te.read %h[%i] : tensor<?xf16>
    %w = arith.extf %u : f16 to f32
    %a = te.round %w to tf32 : f32
    %v = te.read %x[%i] : tensor<?xf32>
    %b = te.round %v to tf32 : f32
    %c = te.round %b to tf32 : f32
    %p = arith.mulf %a, %c : f32
    te.yield %p : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

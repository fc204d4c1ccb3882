// RUN: kernelc-opt --te-verify-plan %s | FileCheck %s

// A right plan stays as it is.
// CHECK: te.kernel @do_nothing
// CHECK-SAME: name = "r", ops = array<i64: 0>, tiles = array<i64: 256>
// CHECK: te.read %arg0[%arg1]
te.kernel @do_nothing sizes ["N"] args ["r"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["r"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {out_alias = array<i64: 0>,
    plan = {target = "sm_80", size_div = array<i64: 1>, size_max = array<i64: -1>, launches = [
      {name = "r", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>):
  %new = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %r[%i] : tensor<?xf32>
    %w = arith.addf %v, %v : f32
    te.yield %w : f32
  } {name = "r"} : tensor<?xf32>
  te.return %new : tensor<?xf32>
}

// Nothing to compute: no launches. And nothing but the attribute changes.
// RUN: kernelc-opt --te-plan="target=sm_90a" %s | FileCheck %s
// RUN: kernelc-opt %s | grep -v te.kernel > %t.before
// RUN: kernelc-opt --te-plan %s | grep -v te.kernel > %t.after
// RUN: diff %t.before %t.after
// CHECK-LABEL: te.kernel @do_nothing
// CHECK-SAME: plan = {launches = [], size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_90a"}
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<?xf32>):
// CHECK-NEXT: te.return %[[X]]
te.kernel @do_nothing sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {out_alias = array<i64: 0>} {
^bb0(%x: tensor<?xf32>):
  te.return %x : tensor<?xf32>
}

// CHECK-LABEL: te.kernel @statements_stay
// CHECK-SAME: name = "y"
te.kernel @statements_stay sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

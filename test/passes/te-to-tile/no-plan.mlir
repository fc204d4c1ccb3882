// RUN: not kernelc-opt --te-to-tile %s 2>&1 | FileCheck %s
// CHECK: error: 'te.kernel' op has no plan; run te-plan first
te.kernel @k sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

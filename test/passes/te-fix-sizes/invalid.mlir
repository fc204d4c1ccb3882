// RUN: kernelc-opt --te-fix-sizes %s -verify-diagnostics

// expected-error @+1 {{has no plan; run te-plan first}}
te.kernel @unplanned sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    // expected-error @+1 {{[C1] rounds f32 to tf32, not 'f32' to 'bf16'}}
    %r = te.round %v to bf16 : f32
    te.yield %r : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

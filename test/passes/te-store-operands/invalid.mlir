// What the pass relies on is refused before it runs: values are of the types that their tensors have.
// RUN: kernelc-opt --te-store-operands %s -verify-diagnostics

te.kernel @wrong_element sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f16"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C4] yields 'f32' into a tensor of 'f16'}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %e = math.exp %v : f32
    te.yield %e : f32
  } : tensor<?xf16>
  te.return %y : tensor<?xf16>
}

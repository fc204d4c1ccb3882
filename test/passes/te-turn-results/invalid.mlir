// What the pass relies on is refused before it runs: a read has a subscript for each dim of its tensor.
// RUN: kernelc-opt --te-turn-results %s -verify-diagnostics

te.kernel @few_subscripts sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0, s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
      // expected-error @+1 {{[C1] subscripts must cover the tensor's 2 dims}}
    %v = te.read %x[%i] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

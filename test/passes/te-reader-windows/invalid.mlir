// What the pass relies on is refused before it runs: a condition over the op's own dims.
// RUN: kernelc-opt --te-reader-windows %s -split-input-file -verify-diagnostics

te.kernel @other_dims sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C1] the condition must be a set over the 2 indices and the sizes}}
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0] -> (s0, s0)> where affine_set<(d0)[s0] : (d0 >= 0)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%k] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

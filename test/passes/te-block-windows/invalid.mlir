// A set says how many of its dims number blocks.
// RUN: kernelc-opt --te-block-windows %s -verify-diagnostics

te.kernel @too_many sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C6] has an 'in_block' that is not a set's number and a number of dims, at least one}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {in_block = array<i64: 0, 2>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

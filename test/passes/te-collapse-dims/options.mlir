// Rows that are known to be whole vectors stay rows; of others nobody knows it.
// RUN: kernelc-opt '--te-collapse-dims=size-div=1,8 size-max=-1,-1' %s | FileCheck %s
// RUN: kernelc-opt --te-collapse-dims %s | FileCheck %s --check-prefix=ONE
// CHECK: te.compute ["i", "j"]
// ONE: te.compute ["i_j"]
te.kernel @twice sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = arith.addf %v, %v : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
}

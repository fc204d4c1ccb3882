// RUN: not kernelc-opt --te-group-rows="target=sm_1" %s 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kernelc-opt --te-group-rows="target=sm_90a size-div=0" %s 2>&1 | FileCheck %s --check-prefix=DIVISOR
// TARGET: :[[#@LINE+2]]:1: error: unknown target 'sm_1'
// DIVISOR: error: size-div: 0 divides no size 'M'; 1 says nothing
te.kernel @k sizes ["M"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["m"] : ["f32"] [affine_map<()[s0] -> ()>] {
^bb0(%x: tensor<?xf32>):
  %m = te.reduce sum ["i"] parallel 0 extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "m"} : tensor<f32>
  te.return %m : tensor<f32>
}

// RUN: not kernelc-opt --te-split="size-div=0" %s 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: not kernelc-opt --te-split="size-div=1,1" %s 2>&1 | FileCheck %s --check-prefix=COUNT
// DIVISOR: :[[#@LINE+2]]:1: error: size-div: 0 divides no size 'N'; 1 says nothing
// COUNT: error: size-div or size-max has more entries than the kernel's 1 sizes
te.kernel @k sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> ()>] {
^bb0(%x: tensor<?xf32>):
  %y = te.reduce sum ["i"] parallel 0 extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<f32>
  te.return %y : tensor<f32>
}

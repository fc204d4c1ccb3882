// RUN: not kernelc-opt --te-plan="target=sm_1" %s 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kernelc-opt --te-plan="size-div=-4" %s 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: not kernelc-opt --te-plan="size-max=-7" %s 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: not kernelc-opt --te-plan="size-max=1,2" %s 2>&1 | FileCheck %s --check-prefix=COUNT
// TARGET: :[[#@LINE+4]]:1: error: unknown target 'sm_1'
// DIVISOR: error: size-div: -4 divides no size 'N'; 1 says nothing
// BOUND: error: size-max: -7 bounds no size 'N'; -1 says nothing
// COUNT: error: size-div or size-max has more entries than the kernel's 1 sizes
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

// RUN: not kernelc-opt --te-emulate-narrow-types="size-div=0" %s 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: not kernelc-opt --te-emulate-narrow-types %s 2>&1 | FileCheck %s --check-prefix=REDUCE
// DIVISOR: error: size-div: 0 divides no size 'N'; 1 says nothing
te.kernel @k sizes ["N"] args ["x"] : ["u4"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["u4"] [affine_map<()[s0] -> ()>] {
^bb0(%x: tensor<?xi4>):
  // REDUCE: :[[#@LINE+1]]:8: error: reductions of 'i4' are not supported by the GPU pipeline yet; the reference runs them
  %y = te.reduce xor ["i"] parallel 0 extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xi4>
    te.yield %v : i4
  } : tensor<i4>
  te.return %y : tensor<i4>
}

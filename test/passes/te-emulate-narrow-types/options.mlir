// RUN: kernelc-opt --te-emulate-narrow-types="size-div=2" %s | FileCheck %s --check-prefix=EVEN
// RUN: kernelc-opt --te-emulate-narrow-types %s | FileCheck %s --check-prefix=UNKNOWN

// EVEN: affine_map<()[s0] -> (s0 floordiv 2)>
// EVEN-NOT: arith.shrsi %{{.*}} : index
// UNKNOWN: affine_map<()[s0] -> (s0 ceildiv 2)>
// UNKNOWN: arith.shrsi %{{.*}} : index
te.kernel @f sizes ["N"] args ["x"] : ["u4"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["i32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xi4>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xi4>
    %w = arith.extui %v : i4 to i32
    te.yield %w : i32
  } {name = "y"} : tensor<?xi32>
  te.return %y : tensor<?xi32>
}

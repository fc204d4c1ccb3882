// RUN: kernelc-opt --te-emulate-narrow-types %s | FileCheck %s

// CHECK-NOT: floordiv
// CHECK-LABEL: te.kernel @do_nothing
// CHECK: te.read %{{.*}} : tensor<?xi8>
// CHECK-NEXT: arith.extsi
te.kernel @do_nothing sizes ["N"] args ["x"] : ["i8"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["i32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xi8>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xi8>
    %w = arith.extsi %v : i8 to i32
    te.yield %w : i32
  } {name = "y"} : tensor<?xi32>
  te.return %y : tensor<?xi32>
}

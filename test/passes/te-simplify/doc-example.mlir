// A pointwise tensor disappears into its reader, and the reader's shift into the map.
// RUN: kernelc-opt --te-simplify %s | FileCheck %s
te.kernel @differences sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0 + 1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0 + 1)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } {name = "t"} : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] map affine_map<(d0)[s0] -> (d0 + 1)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// CHECK: #[[NEXT:.*]] = affine_map<(d0)[s0] -> (d0 + 1)>
// CHECK-LABEL: te.kernel @differences
// CHECK: %[[Y:.*]] = te.compute ["i"]
// CHECK: %[[V:.*]] = te.read %{{.*}}[%{{.*}}] map #[[NEXT]] : tensor<?xf32>
// CHECK: %[[W:.*]] = arith.mulf %[[V]], %[[V]] : f32
// CHECK: te.yield %[[W]] : f32
// CHECK: te.return %[[Y]] : tensor<?xf32>

// RUN: kernelc-opt --te-simplify %s | FileCheck %s

// CHECK-LABEL: te.kernel @do_nothing
// CHECK: te.compute ["i"]
te.kernel @do_nothing sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// A pointwise tensor disappears into its reader; the shifted read composes.
// CHECK-LABEL: te.kernel @inline
// CHECK-COUNT-1: te.compute
// CHECK: te.read %{{.*}}[%{{.*}}] map #[[MAP:.*]] : tensor<?xf32>
// CHECK: arith.mulf
// CHECK-NOT: te.compute
te.kernel @inline sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0 + 1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0 + 1)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] map affine_map<(d0)[s0] -> (d0 + 1)> : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Read outside its bounds, it stays a tensor.
// CHECK-LABEL: te.kernel @padded
// CHECK-COUNT-2: te.compute
te.kernel @padded sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] map affine_map<(d0)[s0] -> (d0 + 1)> edge : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

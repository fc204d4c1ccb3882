// RUN: kernelc-opt --te-simplify %s | FileCheck %s

// CHECK: #[[DIGITS:.*]] = affine_map<(d0)[s0] -> (d0 floordiv 4, d0 mod 4)>

// A chain of pointwise tensors disappears into its reader, however long.
// CHECK-LABEL: te.kernel @chain
// CHECK-COUNT-1: te.compute
// CHECK: te.read
// CHECK: math.exp
// CHECK: arith.negf
// CHECK-NOT: te.compute
te.kernel @chain sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %w = math.exp %v : f32
    te.yield %w : f32
  } : tensor<?xf32>
  %u = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] : tensor<?xf32>
    %w = arith.negf %v : f32
    te.yield %w : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %u[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Into a reduction too; what nobody reads goes.
// CHECK-LABEL: te.kernel @into_reduce
// CHECK-NOT: te.compute
// CHECK: te.reduce sum
// CHECK: arith.mulf
te.kernel @into_reduce sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %t = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } : tensor<?x?xf32>
  %unused = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?x?xf32>
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %t[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Index arithmetic of the body becomes the map; x - (x // 4) * 4 is a remainder.
// CHECK-LABEL: te.kernel @digits
// CHECK-NOT: arith.
// CHECK: te.read %{{.*}}[%{{[a-z0-9]+}}] map #[[DIGITS]]
te.kernel @digits sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0, 4)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0 * 4)>] {
^bb0(%x: tensor<?x4xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0 * 4)> {
  ^bb0(%i: index):
    %four = arith.constant 4 : index
    %q = arith.floordivsi %i, %four : index
    %p = arith.muli %q, %four : index
    %r = arith.subi %i, %p : index
    %v = te.read %x[%q, %r] : tensor<?x4xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

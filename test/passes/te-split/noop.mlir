// RUN: kernelc-opt --te-split="size-div=64,1" %s | FileCheck %s

// CHECK-NOT: _high

// CHECK-LABEL: te.kernel @do_nothing
te.kernel @do_nothing sizes ["K", "M"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s1, s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// 48 does not divide the extent, 2 would leave runs of two, a position cannot be split.
// CHECK-LABEL: te.kernel @others
te.kernel @others sizes ["K", "M"] args ["x", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s1, s0)>, affine_map<()[s0, s1] -> (s0)>]
    outs ["y", "z", "a"] : ["f32", "f32", "i64"] [affine_map<()[s0, s1] -> (s1)>, affine_map<()[s0, s1] -> (s1)>, affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?xf32>, %s: tensor<?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%i: index, %k: index):
    %w = te.read %s[%k] map affine_map<(d0)[s0, s1] -> (d0 floordiv 48)> : tensor<?xf32>
    te.yield %w : f32
  } : tensor<?xf32>
  %z = te.reduce max ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    %w = te.read %s[%k] map affine_map<(d0)[s0, s1] -> (d0 mod 2)> : tensor<?xf32>
    %p = arith.mulf %v, %w : f32
    te.yield %p : f32
  } : tensor<?xf32>
  %a = te.reduce argmax ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%i: index, %k: index):
    %w = te.read %s[%k] map affine_map<(d0)[s0, s1] -> (d0 floordiv 64)> : tensor<?xf32>
    te.yield %w : f32
  } : tensor<?xi64>
  te.return %y, %z, %a : tensor<?xf32>, tensor<?xf32>, tensor<?xi64>
}

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

// Nothing says that G divides H, or that G is not zero.
// CHECK-LABEL: te.kernel @unknown
te.kernel @unknown sizes ["H", "G", "D"] args ["q", "k"] : ["f32", "f32"]
    [affine_map<()[s0, s1, s2] -> (s0, s2, s2)>, affine_map<()[s0, s1, s2] -> (s1, s2, s2)>]
    outs ["s", "t"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s2, s2)>, affine_map<()[s0, s1, s2] -> (s2, s2, s0)>]
    attributes {requirement_texts = ["H % G == 0"], requirements = [affine_set<()[s0, s1, s2] : (s0 mod s1 == 0)>]} {
^bb0(%q: tensor<?x?x?xf32>, %k: tensor<?x?x?xf32>):
  %s = te.reduce sum ["h", "i", "j", "d"] parallel 3 extents affine_map<()[s0, s1, s2] -> (s0, s2, s2, s2)> {
  ^bb0(%h: index, %i: index, %j: index, %d: index):
    %a = te.read %q[%h, %i, %d] : tensor<?x?x?xf32>
    %b = te.read %k[%h, %j, %d] map affine_map<(d0, d1, d2)[s0, s1, s2] -> (d0 floordiv (s0 floordiv s1), d1, d2)> : tensor<?x?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?x?x?xf32>
  %t = te.reduce sum ["i", "j", "h", "d"] parallel 3 extents affine_map<()[s0, s1, s2] -> (s2, s2, s0, s2)> {
  ^bb0(%i: index, %j: index, %h: index, %d: index):
    %a = te.read %q[%h, %i, %d] : tensor<?x?x?xf32>
    %b = te.read %k[%h, %j, %d] map affine_map<(d0, d1, d2)[s0, s1, s2] -> (d0 floordiv (s0 floordiv s1), d1, d2)> : tensor<?x?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?x?x?xf32>
  te.return %s, %t : tensor<?x?x?xf32>, tensor<?x?x?xf32>
}

// The heads run along the result's rows; and no product asks in @scaled.
// CHECK-LABEL: te.kernel @rows
te.kernel @rows sizes ["H", "G", "D"] args ["q", "k"] : ["f32", "f32"]
    [affine_map<()[s0, s1, s2] -> (s0, s2, s2)>, affine_map<()[s0, s1, s2] -> (s1, s2, s2)>]
    outs ["t"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s2, s2, s0)>]
    attributes {requirement_texts = ["G >= 1", "H % G == 0"],
                requirements = [affine_set<()[s0, s1, s2] : (s1 - 1 >= 0)>, affine_set<()[s0, s1, s2] : (s0 mod s1 == 0)>]} {
^bb0(%q: tensor<?x?x?xf32>, %k: tensor<?x?x?xf32>):
  %t = te.reduce sum ["i", "j", "h", "d"] parallel 3 extents affine_map<()[s0, s1, s2] -> (s2, s2, s0, s2)> {
  ^bb0(%i: index, %j: index, %h: index, %d: index):
    %a = te.read %q[%h, %i, %d] : tensor<?x?x?xf32>
    %b = te.read %k[%h, %j, %d] map affine_map<(d0, d1, d2)[s0, s1, s2] -> (d0 floordiv (s0 floordiv s1), d1, d2)> : tensor<?x?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?x?x?xf32>
  te.return %t : tensor<?x?x?xf32>
}

// CHECK-LABEL: te.kernel @scaled
te.kernel @scaled sizes ["H", "G", "D"] args ["x", "w"] : ["f32", "f32"]
    [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (s1)>] outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s0, s2)>]
    attributes {requirement_texts = ["G >= 1", "H % G == 0"],
                requirements = [affine_set<()[s0, s1, s2] : (s1 - 1 >= 0)>, affine_set<()[s0, s1, s2] : (s0 mod s1 == 0)>]} {
^bb0(%x: tensor<?x?xf32>, %w: tensor<?xf32>):
  %y = te.compute ["h", "d"] extents affine_map<()[s0, s1, s2] -> (s0, s2)> {
  ^bb0(%h: index, %d: index):
    %a = te.read %x[%h, %d] : tensor<?x?xf32>
    %b = te.read %w[%h] map affine_map<(d0)[s0, s1, s2] -> (d0 floordiv (s0 floordiv s1))> : tensor<?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
}

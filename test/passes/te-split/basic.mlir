// RUN: kernelc-opt --te-split="size-div=64,1" --te-simplify %s | FileCheck %s

// CHECK-DAG: #[[TWO:.*]] = affine_map<()[s0, s1] -> (s1, s0 floordiv 64, 64)>
// CHECK-DAG: #[[WHOLE:.*]] = affine_map<(d0, d1, d2)[s0, s1] -> (d0, d1 * 64 + d2)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0)[s0, s1] -> (d0)>
// CHECK-DAG: #[[PLAIN:.*]] = affine_map<(d0, d1, d2, d3)[s0, s1] -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[DIGITS:.*]] = affine_map<()[s0, s1] -> (s1, s0, 2, 4)>
// CHECK-DAG: #[[SET:.*]] = affine_set<(d0, d1, d2)[s0, s1] : (d0 - d1 * 64 - d2 >= 0)>

// A scale per group of 64; the condition is rewritten too.
// CHECK-LABEL: te.kernel @scaled
// CHECK: te.reduce sum ["i", "k_high", "k_low"] parallel 1 extents #[[TWO]] where #[[SET]]
// CHECK: ^bb0(%[[I:.*]]: index, %[[HIGH:.*]]: index, %[[LOW:.*]]: index):
// CHECK: te.read %{{.*}}[%[[I]], %[[HIGH]], %[[LOW]]] map #[[WHOLE]]
// CHECK: te.read %{{.*}}[%[[HIGH]]] map #[[FIRST]]
te.kernel @scaled sizes ["K", "M"] args ["x", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s1, s0)>, affine_map<()[s0, s1] -> (s0 floordiv 64)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?xf32>, %s: tensor<?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)>
      where affine_set<(d0, d1)[s0, s1] : (d0 - d1 >= 0)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    %w = te.read %s[%k] map affine_map<(d0)[s0, s1] -> (d0 floordiv 64)> : tensor<?xf32>
    %p = arith.mulf %v, %w : f32
    te.yield %p : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Two digits, the larger a multiple of the smaller; nothing walks k as it stands.
// CHECK-LABEL: te.kernel @digits
// CHECK: te.reduce sum ["i", "k_high_high", "k_high_low", "k_low"] parallel 1 extents #[[DIGITS]]
// CHECK: te.read %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] map #[[PLAIN]]
te.kernel @digits sizes ["K", "M"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s1, s0, 2, 4)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?x?x?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0 * 8)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (d0, d1 floordiv 8, (d1 floordiv 4) mod 2, d1 mod 4)> : tensor<?x?x?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

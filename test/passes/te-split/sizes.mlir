// RUN: kernelc-opt --te-split --te-simplify %s | FileCheck %s

// Digits given by sizes: `require H % G == 0`, with G at least 1.

// CHECK-DAG: #[[PLAIN:.*]] = affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d0, d1, d2)>
// CHECK-DAG: #[[WHOLE:.*]] = affine_map<(d0, d1, d2, d3)[s0, s1, s2, s3] -> (d1 + d0 * (s0 floordiv s1), d2, d3)>
// CHECK-DAG: #[[EXTENTS:.*]] = affine_map<()[s0, s1, s2, s3] -> (s1, s0 floordiv s1, s2, s2, s3)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<()[s0, s1, s2, s3] -> (s1, s0 floordiv s1, s2, s2)>
// CHECK-DAG: #[[BEFORE:.*]] = affine_map<()[s0, s1, s2, s3] -> (s0 floordiv s1, s1, s2, s3, s3)>
// CHECK-DAG: #[[SUMMED:.*]] = affine_map<()[s0, s1, s2, s3] -> (s2, s1, s0 floordiv s1)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d0 * (s0 floordiv s1) + d1, d2)>

#ext4 = affine_map<()[s0, s1, s2, s3] -> (s0, s2, s2, s3)>
#ext3 = affine_map<()[s0, s1, s2, s3] -> (s0, s2, s2)>
#q = affine_map<()[s0, s1, s2, s3] -> (s0, s2, s3)>
#k = affine_map<()[s0, s1, s2, s3] -> (s1, s2, s3)>
#o = affine_map<()[s0, s1, s2, s3] -> (s0, s2)>
#read_q = affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d0, d1, d2)>
#read_k = affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d0 floordiv (s0 floordiv s1), d1, d2)>

// The product asks for the digits. It keeps them, so its reader follows; what that
// returns has the shape that it had, and the key's subscripts are a box.
// CHECK-LABEL: te.kernel @scores
// CHECK: %[[S:.*]] = te.reduce sum ["h_high", "h_low", "i", "j", "d"] parallel 4 extents #[[EXTENTS]]
// CHECK: ^bb0(%[[HIGH:.*]]: index, %[[LOW:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[D:.*]]: index):
// CHECK: te.read %{{.*}}[%[[HIGH]], %[[LOW]], %[[I]], %[[D]]] map #[[WHOLE]]
// CHECK: te.read %{{.*}}[%[[HIGH]], %[[J]], %[[D]]] map #[[PLAIN]]
// CHECK: %[[M:.*]] = te.reduce max ["h_high", "h_low", "i", "j"] parallel 3 extents #[[ROWS]]
// CHECK: te.read %[[S]]
// CHECK: te.compute ["h_high", "h_low", "i"]
// CHECK: te.read %[[M]]
// CHECK: {name = "m", out_map = #[[OUT]]
te.kernel @scores sizes ["H", "G", "S", "D"] args ["q", "k"] : ["f32", "f32"] [#q, #k] outs ["m"] : ["f32"] [#o]
    attributes {requirement_texts = ["G >= 1", "H % G == 0"],
                requirements = [affine_set<()[s0, s1, s2, s3] : (s1 - 1 >= 0)>, affine_set<()[s0, s1, s2, s3] : (s0 mod s1 == 0)>]} {
^bb0(%q: tensor<?x?x?xf32>, %k: tensor<?x?x?xf32>):
  %s = te.reduce sum ["h", "i", "j", "d"] parallel 3 extents #ext4 {
  ^bb0(%h: index, %i: index, %j: index, %d: index):
    %a = te.read %q[%h, %i, %d] map #read_q : tensor<?x?x?xf32>
    %b = te.read %k[%h, %j, %d] map #read_k : tensor<?x?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?x?x?xf32>
  %m = te.reduce max ["h", "i", "j"] parallel 2 extents #ext3 {
  ^bb0(%h: index, %i: index, %j: index):
    %v = te.read %s[%h, %i, %j] : tensor<?x?x?xf32>
    te.yield %v : f32
  } {name = "m"} : tensor<?x?xf32>
  te.return %m : tensor<?x?xf32>
}

// Heads that alternate, `h % G`: the digits the other way round. A statement that the
// product reads follows too.
// CHECK-LABEL: te.kernel @alternating
// CHECK: %[[T:.*]] = te.reduce max ["h_high", "h_low", "i", "d", "e"] parallel 4 extents #[[BEFORE]]
// CHECK: te.reduce sum ["h_high", "h_low", "i", "j", "d"] parallel 4
// CHECK: ^bb0(%[[HIGH:.*]]: index, %[[LOW:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[D:.*]]: index):
// CHECK: te.read %[[T]][%[[HIGH]], %[[LOW]], %[[I]], %[[D]]]
// CHECK: te.read %{{.*}}[%[[LOW]], %[[J]], %[[D]]] map #[[PLAIN]]
te.kernel @alternating sizes ["H", "G", "S", "D"] args ["q", "k"] : ["f32", "f32"] [#q, #k] outs ["s"] : ["f32"] [#ext3]
    attributes {requirement_texts = ["G >= 1", "H % G == 0"],
                requirements = [affine_set<()[s0, s1, s2, s3] : (s1 - 1 >= 0)>, affine_set<()[s0, s1, s2, s3] : (s0 mod s1 == 0)>]} {
^bb0(%q: tensor<?x?x?xf32>, %k: tensor<?x?x?xf32>):
  %t = te.reduce max ["h", "i", "d", "e"] parallel 3 extents affine_map<()[s0, s1, s2, s3] -> (s0, s2, s3, s3)> {
  ^bb0(%h: index, %i: index, %d: index, %e: index):
    %a = te.read %q[%h, %i, %e] map #read_q : tensor<?x?x?xf32>
    te.yield %a : f32
  } : tensor<?x?x?xf32>
  %s = te.reduce sum ["h", "i", "j", "d"] parallel 3 extents #ext4 {
  ^bb0(%h: index, %i: index, %j: index, %d: index):
    %a = te.read %t[%h, %i, %d] map #read_q : tensor<?x?x?xf32>
    %b = te.read %k[%h, %j, %d] map affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d0 mod s1, d1, d2)> : tensor<?x?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?x?x?xf32>
  te.return %s : tensor<?x?x?xf32>
}

// A reduced index.
// CHECK-LABEL: te.kernel @weighted
// CHECK: te.reduce sum ["i", "h_high", "h_low"] parallel 1 extents #[[SUMMED]]
te.kernel @weighted sizes ["H", "G", "S", "D"] args ["x", "w"] : ["f32", "f32"] [#o, affine_map<()[s0, s1, s2, s3] -> (s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2, s3] -> (s2)>]
    attributes {requirement_texts = ["G >= 1", "H % G == 0"],
                requirements = [affine_set<()[s0, s1, s2, s3] : (s1 - 1 >= 0)>, affine_set<()[s0, s1, s2, s3] : (s0 mod s1 == 0)>]} {
^bb0(%x: tensor<?x?xf32>, %w: tensor<?xf32>):
  %y = te.reduce sum ["i", "h"] parallel 1 extents affine_map<()[s0, s1, s2, s3] -> (s2, s0)> {
  ^bb0(%i: index, %h: index):
    %a = te.read %x[%h, %i] : tensor<?x?xf32>
    %b = te.read %w[%h] map affine_map<(d0)[s0, s1, s2, s3] -> (d0 floordiv (s0 floordiv s1))> : tensor<?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

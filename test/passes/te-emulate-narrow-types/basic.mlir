// RUN: kernelc-opt --te-emulate-narrow-types="size-div=1,2" %s | FileCheck %s

// CHECK-DAG: #[[HALF:.*]] = affine_map<()[s0, s1] -> (s0, s1 floordiv 2)>
// CHECK-DAG: #[[BYTES:.*]] = affine_map<()[s0, s1] -> ((s0 * s1) ceildiv 2)>
// CHECK-DAG: #[[SHARED:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0, d1 floordiv 2)>
// CHECK-DAG: #[[EVEN:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0, d1 * 2)>
// CHECK-DAG: #[[ODD:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0, d1 * 2 + 1)>

// A nibble of a byte: signed ones with their sign, padding on both sides of a byte.
// CHECK-LABEL: te.kernel @rows
// CHECK-SAME: args ["w"] : ["u8"] [#[[HALF]]]
// CHECK: %[[B:.*]] = te.read %{{.*}}[%{{.*}}, %[[N:.*]]] map #[[SHARED]] pad %{{.*}} : tensor<?x?xi8>
// CHECK: %[[WIDE:.*]] = arith.extui %[[B]] : i8 to i32
// CHECK: arith.shrsi
// CHECK: arith.sitofp
te.kernel @rows sizes ["M", "N"] args ["w"] : ["i4"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%w: tensor<?x?xi4>):
  %y = te.compute ["m", "n"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%m: index, %n: index):
    %one = arith.constant 1 : i4
    %v = te.read %w[%m, %n] pad %one : tensor<?x?xi4>
    %i = arith.extsi %v : i4 to i32
    %f = arith.sitofp %i : i32 to f32
    te.yield %f : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
}

// Rows of M nibbles may end inside a byte: elements by their number, which is -2 outside.
// CHECK-LABEL: te.kernel @linear
// CHECK-SAME: args ["w"] : ["u8"] [#[[BYTES]]]
// CHECK: %[[L:.*]] = arith.select %{{.*}}, %{{.*}}, %c-2 : index
// CHECK: %[[AT:.*]] = arith.shrsi %[[L]], %c1{{.*}} : index
// CHECK: te.read %{{.*}}[%[[AT]]] map #{{.*}} pad %{{.*}} : tensor<?xi8>
te.kernel @linear sizes ["M", "N"] args ["w"] : ["u4"] [affine_map<()[s0, s1] -> (s1, s0)>]
    outs ["y"] : ["i32"] [affine_map<()[s0, s1] -> (s1, s0)>] {
^bb0(%w: tensor<?x?xi4>):
  %y = te.compute ["n", "m"] extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%n: index, %m: index):
    %one = arith.constant 1 : i4
    %v = te.read %w[%n, %m] map affine_map<(d0, d1)[s0, s1] -> (d0, d1 + 1)> pad %one : tensor<?x?xi4>
    %i = arith.extui %v : i4 to i32
    te.yield %i : i32
  } {name = "y"} : tensor<?x?xi32>
  te.return %y : tensor<?x?xi32>
}

// A byte an element inside, and a statement that packs them.
// CHECK-LABEL: te.kernel @results
// CHECK-SAME: outs ["q"] : ["u8"] [#[[HALF]]]
// CHECK: %[[Q:.*]] = te.compute ["m", "n"]
// CHECK: te.convert %{{.*}} : f32 to i8
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: te.compute ["d0", "d1"] extents #[[HALF]]
// CHECK: %[[LOW:.*]] = te.read %[[Q]]{{.*}} map #[[EVEN]]
// CHECK: %[[HIGH:.*]] = te.read %[[Q]]{{.*}} map #[[ODD]]
// CHECK: %[[UP:.*]] = arith.shli %[[HIGH]], %c4{{.*}} : i8
// CHECK: arith.ori %[[LOW]], %[[UP]] : i8
te.kernel @results sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["q"] : ["i4"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %q = te.compute ["m", "n"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%m: index, %n: index):
    %v = te.read %x[%m, %n] : tensor<?x?xf32>
    %i = te.convert %v : f32 to i4
    te.yield %i : i4
  } {name = "q"} : tensor<?x?xi4>
  te.return %q : tensor<?x?xi4>
}

// What is updated in part is unpacked first, and all of it packed.
// CHECK-LABEL: te.kernel @part
// CHECK: %[[WHOLE:.*]] = te.compute ["d0", "d1"] {{.*}}
// CHECK: name = "r_elements"
// CHECK: te.compute ["m"] {{.*}} init %[[WHOLE]]
// CHECK: te.compute ["d0", "d1"] extents #[[HALF]]
te.kernel @part sizes ["M", "N"] args ["r"] : ["u4"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["r"] : ["u4"] [affine_map<()[s0, s1] -> (s0, s1)>] attributes {out_alias = array<i64: 0>} {
^bb0(%r: tensor<?x?xi4>):
  %y = te.compute ["m"] extents affine_map<()[s0, s1] -> (s0)> init %r : tensor<?x?xi4> {
  ^bb0(%m: index):
    %c = arith.constant 3 : i4
    te.yield %c : i4
  } {name = "r", out_map = affine_map<(d0)[s0, s1] -> (d0, 0)>, shape = affine_map<()[s0, s1] -> (s0, s1)>} : tensor<?x?xi4>
  te.return %y : tensor<?x?xi4>
}

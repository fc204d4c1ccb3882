// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=64,8,64,512 size-max=64,8,64,512" %s | FileCheck %s
// Several reduced indices: outer ones are parts as they are, the next one in chunks, until there are enough.
// CHECK: #[[LATER:.*]] = affine_set<(d0, d1, d2, d3, d4)[{{.*}}] : ({{.*}}d2 * 16{{.*}} >= 0)>
// CHECK-LABEL: te.kernel @channels
// CHECK: te.reduce sum ["c", "n", "h_part", "h", "w"] parallel 3 extents
// CHECK: te.reduce sum ["c", "n", "h_part"] parallel 1 extents
// CHECK-LABEL: te.kernel @all
// CHECK: te.reduce sum ["n", "c", "h_part", "h", "w"] parallel 3 extents {{.*}} where #[[LATER]] {
// CHECK: te.reduce sum ["n", "c", "h_part"] parallel 0 extents
te.kernel @channels sizes ["N", "C", "H", "W"] args ["x"] : ["f32"] [affine_map<()[s0, s1, s2, s3] -> (s0, s1, s2, s3)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2, s3] -> (s1)>] {
^bb0(%x: tensor<?x?x?x?xf32>):
  %y = te.reduce sum ["c", "n", "h", "w"] parallel 1 extents affine_map<()[s0, s1, s2, s3] -> (s1, s0, s2, s3)> {
  ^bb0(%c: index, %n: index, %h: index, %w: index):
    %v = te.read %x[%n, %c, %h, %w] : tensor<?x?x?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
te.kernel @all sizes ["N", "C", "H", "W"] args ["x"] : ["f32"] [affine_map<()[s0, s1, s2, s3] -> (s0, s1, s2, s3)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2, s3] -> ()>] {
^bb0(%x: tensor<?x?x?x?xf32>):
  %y = te.reduce sum ["n", "c", "h", "w"] parallel 0 extents affine_map<()[s0, s1, s2, s3] -> (s0, s1, s2, s3)>
      where affine_set<(d0, d1, d2, d3)[s0, s1, s2, s3] : (d2 - d0 >= 0)> {
  ^bb0(%n: index, %c: index, %h: index, %w: index):
    %v = te.read %x[%n, %c, %h, %w] : tensor<?x?x?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<f32>
  te.return %y : tensor<f32>
}

// RUN: kernelc-opt %s | kernelc-opt | FileCheck %s

// CHECK-LABEL: te.kernel @kinds
// CHECK: te.scatter sum ["n"] extents #{{.*}} where #{{.*}} init %{{.*}} : tensor<256xi32> {
// CHECK: te.yield %{{.*}}, %{{.*}} where %{{.*}} : i32, index
// CHECK: guarded
// CHECK: te.scatter unique ["n"] extents #{{.*}} {
// CHECK: te.scatter prod ["n"]
// CHECK: any_order
te.kernel @kinds sizes ["N"] args ["x", "h", "f"] : ["u8", "i32", "f32"]
    [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (256)>, affine_map<()[s0] -> (s0)>]
    outs ["h", "u", "p"] : ["i32", "f32", "f32"] [affine_map<()[s0] -> (256)>, affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]
    attributes {out_alias = array<i64: 1, -1, 2>} {
^bb0(%x: tensor<?xi8>, %h: tensor<256xi32>, %f: tensor<?xf32>):
  %0 = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> where affine_set<(d0)[s0] : (d0 - 1 >= 0)> init %h : tensor<256xi32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xi8>
    %w = arith.extui %v : i8 to i64
    %at = arith.index_cast %w : i64 to index
    %one = arith.constant 1 : i32
    %c = arith.constant 3 : i64
    %some = arith.cmpi sgt, %w, %c : i64
    te.yield %one, %at where %some : i32, index
  } {name = "h", shape = affine_map<()[s0] -> (256)>, guarded} : tensor<256xi32>
  %1 = te.scatter unique ["n"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%n: index):
    %v = te.read %f[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "u", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  %2 = te.scatter prod ["n"] extents affine_map<()[s0] -> (s0)> init %f : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %1[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "p", shape = affine_map<()[s0] -> (s0)>, any_order} : tensor<?xf32>
  te.return %0, %1, %2 : tensor<256xi32>, tensor<?xf32>, tensor<?xf32>
}

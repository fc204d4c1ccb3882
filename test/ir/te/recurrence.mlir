// RUN: kernelc-opt %s | kernelc-opt | FileCheck %s

// CHECK-LABEL: te.kernel @solve
// CHECK: te.recurrence ["i", "j"] parallel 1 free 0 extents #{{.*}} kinds ["sum"] counts [1] ranges [#{{.*}}] {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: f32, %{{.*}}: tensor<?xf32>):
// CHECK: } terms {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[SELF:.*]]: tensor<?xf32>):
// CHECK: te.read %[[SELF]][%{{.*}}]
// CHECK: } {name = "x"} : tensor<?xf32>
te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [1]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// Mean and difference in one launch: their parallel index i is its grid, and j is
// walked in tiles of the loop.
// RUN: kernelc-opt --te-plan="target=sm_80 size-div=4,4" %s | FileCheck %s
te.kernel @center sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %s = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "s"} : tensor<?xf32>
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %m = te.read %s[%i] : tensor<?xf32>
    %d = arith.subf %v, %m : f32
    te.yield %d : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
}
// CHECK: #[[EXTENTS:.*]] = affine_map<()[s0, s1] -> (s0, s1)>
// CHECK-LABEL: te.kernel @center
// CHECK-SAME: dims = [array<i64: 0, 1>, array<i64: 0, 1>], extents = #[[EXTENTS]]
// CHECK-SAME: grid = array<i64: 0>, in_flight = 1 : i64, indices = ["i", "j"]
// CHECK-SAME: ops = array<i64: 0, 1>
// CHECK-SAME: tiles = array<i64: 1, 4096>
// CHECK-SAME: size_div = array<i64: 4, 4>, size_max = array<i64: -1, -1>, target = "sm_80"

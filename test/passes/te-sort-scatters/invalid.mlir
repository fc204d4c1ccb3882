// RUN: not kernelc-opt --te-sort-scatters="size-max=8589934592,4" %s 2>&1 | FileCheck %s

// CHECK: error: a scatter whose order counts sorts fewer than 2^32 points into fewer than 2^31 rows; here there may be 8589934592 and {{.*}}: 'order(any)' has no such limit
te.kernel @many sizes ["N", "R"] args ["at", "x"] : ["i32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1 * 100)>] {
^bb0(%at: tensor<?xi32>, %x: tensor<?xf32>):
  %zero = te.compute ["i"] extents affine_map<()[s0, s1] -> (s1 * 100)> {
  ^bb0(%i: index):
    %c = arith.constant 0.0 : f32
    te.yield %c : f32
  } {name = "y"} : tensor<?xf32>
  %y = te.scatter sum ["n"] extents affine_map<()[s0, s1] -> (s0)> init %zero : tensor<?xf32> {
  ^bb0(%n: index):
    %r = te.read %at[%n] : tensor<?xi32>
    %s = arith.index_cast %r : i32 to index
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %s : f32, index
  } {name = "y", shape = affine_map<()[s0, s1] -> (s1 * 100)>, guarded} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

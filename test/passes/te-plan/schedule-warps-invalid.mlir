// RUN: not kernelc-opt --te-plan %s 2>&1 | FileCheck %s
// Three warps left part of a transposed tile unwritten (found by a random schedule).
// CHECK: :[[#@LINE+1]]:1: error: schedule of launch 'y': 3 warps; they are a power of two
te.kernel @k sizes ["M", "N"] args ["x"] : ["u64"] [affine_map<()[s0, s1] -> (s1, s0)>]
    outs ["y"] : ["u64"] [affine_map<()[s0, s1] -> (s0, s1)>]
    attributes {schedule = [{launch = "y", warps = 3 : i64}]} {
^bb0(%x: tensor<?x?xi64>):
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%j, %i] : tensor<?x?xi64>
    te.yield %v : i64
  } {name = "y"} : tensor<?x?xi64>
  te.return %y : tensor<?x?xi64>
}

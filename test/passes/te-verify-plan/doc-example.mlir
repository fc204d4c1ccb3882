// RUN: not kernelc-opt --te-verify-plan %s 2>&1 | FileCheck %s

// CHECK: error: internal error: the plan of kernel 'reverse' is wrong in launch 'r': 'r' reads elements that another tile or thread overwrites when it computes 'r', and nothing orders them; a copy is needed
te.kernel @reverse sizes ["N"] args ["r"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["r"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {out_alias = array<i64: 0>,
    plan = {target = "sm_80", size_div = array<i64: 1>, size_max = array<i64: -1>, launches = [
      {name = "r", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>):
  %new = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %r[%i] map affine_map<(d0)[s0] -> (s0 - 1 - d0)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "r"} : tensor<?xf32>
  te.return %new : tensor<?xf32>
}

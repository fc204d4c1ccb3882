// What the plan relies on is refused without the pass, and not with it.
// RUN: not kernelc-opt --te-plan %s 2>&1 | FileCheck %s
// RUN: kernelc-opt --te-copy-inouts --te-plan %s | FileCheck %s --check-prefix=ORDERED

// CHECK: error: writes to memory that others, or it itself elsewhere, read as it was; run te-copy-inouts first
// ORDERED: te.compute ["i"] extents #{{.*}} {
// ORDERED: arith.mulf
// ORDERED: te.compute ["i"] extents #{{.*}} {
// ORDERED: arith.addf
te.kernel @hasty sizes ["N"] args ["r"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["r", "s"] : ["f32", "f32"] [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>] attributes {out_alias = array<i64: 0, -1>} {
^bb0(%r: tensor<?xf32>):
  %new = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %r[%i] : tensor<?xf32>
    %w = arith.addf %v, %v : f32
    te.yield %w : f32
  } {name = "r"} : tensor<?xf32>
  %s = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %r[%i] map affine_map<(d0)[s0] -> (s0 - 1 - d0)> : tensor<?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } {name = "s"} : tensor<?xf32>
  te.return %new, %s : tensor<?xf32>, tensor<?xf32>
}

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// Marks where they belong.
te.kernel @do_nothing sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y", own_launch, streamed = array<i64: 0>, no_sibling = "why"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// Misspelt.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{has no attribute 'own_lunch', and there is no such mark; ir/te/Marks.h lists marks}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", own_lunch} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// Misplaced.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{has the mark 'in_tile', which is for reductions}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", in_tile} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// On what stands in a statement, too.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    // expected-error @+1 {{has the mark 'high_part', which is for roundings}}
    %w = arith.negf %v {high_part} : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// A value that it may not have: dim 1 is summed.
te.kernel @f sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{has the mark 'streamed' with array<i64: 1>; it must be a list of parallel dims}}
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y", streamed = array<i64: 1>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// What is known of a kernel is of its type, too.
// expected-error @+1 {{has the mark 'plan' with 1 : i64; it must be a dictionary}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {plan = 1 : i64} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// What passes leave on statements, and on roundings of arith, where it belongs.
te.kernel @do_nothing sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    %high = arith.truncf %v {te.high_part} : f32 to bf16
    %wide = arith.extf %high : bf16 to f32
    %own = te.round %wide to tf32 {high_part} : f32
    te.yield %own : f32
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
// What reductions alone have.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{has no attribute 'in_tile', and there is no such mark; ir/te/Marks.h lists marks}}
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
    // expected-error @+1 {{has the mark 'te.high_part', which is for roundings of arith}}
    %w = arith.negf %v {te.high_part} : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// A value that it may not have: dim 1 is summed.
te.kernel @f sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] has no parallel dim 1, which 'streamed' names}}
  %y = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y", streamed = array<i64: 1>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// What is known of a kernel is of its type, too.
// expected-error @+1 {{attribute 'plan' failed to satisfy constraint: dictionary of named attribute values}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {plan = 1 : i64} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{[C1] has 1 outputs but 2 names, 1 types and 1 shapes}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y", "z"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{[C1] has 1 outputs but 2 entries of out_alias}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {out_alias = array<i64: -1, -1>} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{[C2] the shape of arguments 0 must have no dims and one symbol per size}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    // expected-error @+1 {{[C2] its map must go from the kernel's 1 sizes to one number}}
    %n = te.size affine_map<()[s0, s1] -> (s1)>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C5] is no statement of a te.kernel, nor makes it a scalar that statements share}}
  %t = arith.constant dense<0.0> : tensor<4xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  // expected-error @+1 {{[C5] is no statement of a te.kernel}}
  %t = arith.constant dense<0.0> : tensor<4xf32>
  te.return %t : tensor<4xf32>
}
// -----
// A body has no branches.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %on = arith.constant true
    // expected-error @+1 {{[C6] makes no scalar that a statement's body can have}}
    %w = scf.if %on -> f32 {
      scf.yield %v : f32
    } else {
      scf.yield %v : f32
    }
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    // expected-error @+1 {{[C6] makes no scalar that a statement's body can have}}
    %w = arith.constant dense<0.0> : vector<4xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    // expected-error @+1 {{[C6] makes no scalar that a statement's body can have}}
    %w = arith.constant 0 : i128
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    // expected-error @+1 {{[C7] divides by a constant that is not positive in 'map'}}
    %v = te.read %x[%i] map affine_map<(d0)[s0] -> (d0 floordiv 0)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C7] divides by a constant that is not positive in 'extents'}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0 mod -2)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{[C8] 'param_strides' must have one entry for each of the 2 parameters}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {param_strides = [unit]} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{[C8] 'param_strides' must have one entry for each of the 2 parameters}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {param_strides = [unit, affine_map<() -> (1)>]} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{[C9] 'faults' must be a list of records with 'at', 'what', 'indices', 'lows' and 'extents'}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {faults = [{at = loc("f":1:1), what = "x leaves 0:N", indices = ["i"], extents = affine_map<()[s0] -> (s0)>}]} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{[C8] 'param_alignment' must have one entry for each of the 2 parameters}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {param_alignment = array<i64: 16, 3>} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C1] extents must be a map without dims over 1 sizes to 1 results, one per index}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0, s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C2] shape must give the result's 1 dims over the sizes}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", shape = affine_map<(d0)[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C5] init must be an argument of the kernel or what a statement gives}}
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> init %x : tensor<?xf32> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", shape = affine_map<()[s0] -> (s0 + 1)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0, 4)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?x4xf32>):
  // expected-error @+1 {{[C3] maxu does not reduce 'f32'}}
  %y = te.reduce maxu ["i", "k"] parallel 1 extents affine_map<()[s0] -> (s0, 4)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x4xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// There is no infinity of this type to begin with.
te.kernel @f sizes ["N"] args ["x"] : ["f8e4m3"] [affine_map<()[s0] -> (s0, 4)>] outs ["y"] : ["f8e4m3"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?x4xf8E4M3FN>):
  // expected-error @+1 {{[C3] max does not reduce 'f8E4M3FN'}}
  %y = te.reduce max ["i", "k"] parallel 1 extents affine_map<()[s0] -> (s0, 4)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x4xf8E4M3FN>
    te.yield %v : f8E4M3FN
  } {name = "y"} : tensor<?xf8E4M3FN>
  te.return %y : tensor<?xf8E4M3FN>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0, 4)>] outs ["y"] : ["i64"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?x4xf32>):
  // expected-error @+1 {{[C3] argmaxu does not reduce 'f32'}}
  %y = te.reduce argmaxu ["i", "k"] parallel 1 extents affine_map<()[s0] -> (s0, 4)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x4xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xi64>
  te.return %y : tensor<?xi64>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    // expected-error @+1 {{[C1] subscripts must cover the tensor's 1 dims, by a map with a dim for each of the 1 operands and a symbol for each of the kernel's 1 sizes}}
    %v = te.read %x[%i] map affine_map<(d0) -> (d0)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %n = te.size affine_map<()[s0] -> (s0)>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  // expected-error @+1 {{[C3] must stand in the body of a statement}}
  %z = te.read %x[%n] : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// What stands in a body is verified before the op around it looks at it.
"te.kernel"() <{arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0)>], arg_types = ["f32"], out_names = ["y"],
    out_shapes = [affine_map<()[s0] -> (s0)>], out_types = ["f32"], sizes = ["N"], sym_name = "f"}> ({
^bb0(%x: tensor<?xf32>):
  %y = "te.compute"() <{extents = affine_map<()[s0] -> (s0)>, indices = ["i"]}> ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<?xf32>, index) -> f32
    // expected-error @+1 {{operand count (1) does not match with the total size (65) specified in attribute 'operandSegmentSizes'}}
    "te.yield"(%v) <{operandSegmentSizes = array<i32: 1, 64>}> : (f32) -> ()
  }) : () -> tensor<?xf32>
  "te.return"(%y) : (tensor<?xf32>) -> ()
}) : () -> ()

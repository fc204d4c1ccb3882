// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C1] extents must be a map without dims over 2 sizes to 2 results, one per index}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C1] has more parallel dims than indices}}
  %y = te.fold ["i", "j"] parallel 3 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] identity must have a number per component, not "zero"}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from ["zero"] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] combine must take the 1 components and then the 1 values of an element, and yield the components}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] combine must take the 1 components and then the 1 values of an element, and yield the components}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a, %b : f32, f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] both regions must end in a te.yield, that of combine without a condition}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf olt, %a, %b : f32
    te.yield %a where %c : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] the elements of a monoid must be states}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = arith.extf %v : f32 to f64
    te.yield %w : f64
  } combine {
  ^bb0(%a: f32, %b: f64):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C3] has 2 fields and 1 results}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0, 0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C3] has no component 1}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [1] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C3] the result of component 0 must have 1 dims of type 'f32'}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] monoid {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf64>
  te.return %y : tensor<?xf64>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C4] is commutative and no monoid}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] commutative {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----


te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C5] is descending and no scan from the end}}
  %y = te.fold ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0.0 : f32] fields [0] descending {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    te.yield %a : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

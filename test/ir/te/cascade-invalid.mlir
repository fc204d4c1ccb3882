// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C1] extents must be a map without dims over 2 sizes to 2 results, one per index}}
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C1] the condition must be a set over the 2 indices and the sizes}}
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> where affine_set<(d0)[s0, s1] : (d0 >= 0)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] "argmax" is no combiner of single values}}
  %m, %y = te.cascade ["argmax", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C2] its rescale region must have 0 index arguments and then twice the components'}}
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C3] component 0 of the element depends on a component that is not before it}}
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %sum, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C3] component 0 of the rescale depends on more than the old components up to it and the new ones before it}}
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    te.yield %c, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C4] result 1 must have 1 dims of type 'f32'}}
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] has 2 components, and dims of 1}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] [1, 1] is no list of some of its 2 parallel dims, each once}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [1, 1]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] [2] is no list of some of its 2 parallel dims, each once}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [2]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C4] result 1 must have 2 dims of type 'f32'}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0, 1]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] component 0 of the element depends on a dim that it does not have}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0, 1]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %w, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] result 0 depends on a dim that it does not have}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0, 1]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %sum, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

// -----

te.kernel @k sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // expected-error @+1 {{[C6] a condition depends on a dim that component 0 does not have}}
  %m, %y = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0, 1]] extents affine_map<()[s0, s1] -> (s0, s0, s1)> where affine_set<(d0, d1, d2)[s0, s1] : (d1 - d2 >= 0)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %x[%d, %j] : tensor<?x?xf32>
    te.yield %v, %v : f32, f32
  } rescale {
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    te.yield %a, %b : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32):
    te.yield %max, %sum : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %m : tensor<?xf32>
}

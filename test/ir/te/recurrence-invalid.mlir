// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C1] has 2 dims, 1 of points, and 1 free ones; a step must be left}}
  %x = te.recurrence ["i", "j"] parallel 1 free 1 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [1]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// -----

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C1] extents must be a map without dims over 1 sizes to 2 results, one per index}}
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0)> kinds ["sum"] counts [1]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// -----

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C2] kinds, counts, ranges and terms must agree, and the counts with the 1 reduced dims}}
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [2]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// -----

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C2] range 0 must be a set over the 2 indices and the sizes}}
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [1]
      ranges [affine_set<(d0)[s0] : (d0 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// -----

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C2] "argmax" does not reduce 'f32' here}}
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["argmax"] counts [1]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// -----

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C4] the body must yield one 'f32', without a condition}}
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [1]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    %c = arith.cmpf olt, %v, %b : f32
    te.yield %v where %c : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

// -----

te.kernel @solve sizes ["N"] args ["m", "rhs"] : ["f32", "f32"] [affine_map<()[s0] -> (s0, s0)>, affine_map<()[s0] -> (s0)>]
    outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%m: tensor<?x?xf32>, %rhs: tensor<?xf32>):
  // expected-error @+1 {{[C5] a region must have 2 indices, 1 values of reductions and the tensor itself for arguments}}
  %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [1]
      ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>, %t: f32):
    %b = te.read %rhs[%i] : tensor<?xf32>
    %v = arith.subf %b, %t : f32
    te.yield %v : f32
  } terms {
  ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
    %l = te.read %m[%i, %j] : tensor<?x?xf32>
    %o = te.read %self[%j] : tensor<?xf32>
    %p = arith.mulf %l, %o : f32
    te.yield %p : f32
  } {name = "x"} : tensor<?xf32>
  te.return %x : tensor<?xf32>
}

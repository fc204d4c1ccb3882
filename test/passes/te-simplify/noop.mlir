// RUN: kernelc-opt %s -o %t.before && kernelc-opt --te-simplify %s -o %t.after && diff %t.before %t.after

te.kernel @do_nothing sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Read in rounds, a tensor stays one where it asks for its point's number: its elements out there are another rule's.
te.kernel @padded sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %w = arith.mulf %v, %f : f32
    te.yield %w : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] map affine_map<(d0)[s0] -> (d0 + 1)> wrap : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Reductions are not repeated for each reader.
te.kernel @reduced sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %t = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] : tensor<?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Written over an earlier value: not a definition.
te.kernel @updated sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0)> where affine_set<(d0)[s0] : (d0 - 1 >= 0)> init %x : tensor<?xf32> {
  ^bb0(%i: index):
    %v = te.read %x[%i] map affine_map<(d0)[s0] -> (d0 - 1)> : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// RUN: kernelc-opt %s -o %t.before
// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=128,256 size-max=1024,256" %s -o %t.after && diff %t.before %t.after

// Pointwise.
te.kernel @do_nothing sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
}

// A product whose sum is over before a second launch would start.
te.kernel @contraction sizes ["M", "N"] args ["a", "b"] : ["f32", "f32"]
    [affine_map<()[s0, s1] -> (s1, 16)>, affine_map<()[s0, s1] -> (s1, 16)>]
    outs ["c"] : ["f32"] [affine_map<()[s0, s1] -> (16, 16)>] {
^bb0(%a: tensor<?x16xf32>, %b: tensor<?x16xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1] -> (16, 16, s1)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%k, %i] : tensor<?x16xf32>
    %v = te.read %b[%k, %j] : tensor<?x16xf32>
    %w = arith.mulf %u, %v : f32
    te.yield %w : f32
  } : tensor<16x16xf32>
  te.return %c : tensor<16x16xf32>
}

// A minimum propagates NaN where an argmin avoids it: no combiner for its keys.
te.kernel @first_position sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, 64)>]
    outs ["y"] : ["i64"] [affine_map<()[s0, s1] -> (64)>] {
^bb0(%x: tensor<?x64xf32>):
  %y = te.reduce argmin ["j", "i"] parallel 1 extents affine_map<()[s0, s1] -> (64, s0)> {
  ^bb0(%j: index, %i: index):
    %v = te.read %x[%i, %j] : tensor<?x64xf32>
    te.yield %v : f32
  } : tensor<64xi64>
  te.return %y : tensor<64xi64>
}

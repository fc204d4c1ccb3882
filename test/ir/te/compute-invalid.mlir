// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// What ends where the result does leaves out nothing.
te.kernel @cut sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i_tile", "i"] extents affine_map<()[s0] -> (s0 ceildiv 64, 64)> where affine_set<(d0, d1)[s0] : (-(d0 * 64 + d1) + s0 - 1 >= 0)> {
  ^bb0(%t: index, %i: index):
    %v = te.read %x[%t, %i] map affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", out_map = affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)>, shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// One point less.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C3] a restricted domain needs an init, or the partial flag}}
  %y = te.compute ["i_tile", "i"] extents affine_map<()[s0] -> (s0 ceildiv 64, 64)> where affine_set<(d0, d1)[s0] : (-(d0 * 64 + d1) + s0 - 2 >= 0)> {
  ^bb0(%t: index, %i: index):
    %v = te.read %x[%t, %i] map affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", out_map = affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)>, shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// Another condition beside it.
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C3] a restricted domain needs an init, or the partial flag}}
  %y = te.compute ["i_tile", "i"] extents affine_map<()[s0] -> (s0 ceildiv 64, 64)> where affine_set<(d0, d1)[s0] : (-(d0 * 64 + d1) + s0 - 1 >= 0, d1 - 1 >= 0)> {
  ^bb0(%t: index, %i: index):
    %v = te.read %x[%t, %i] map affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", out_map = affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)>, shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C3] a restricted domain needs an init, or the partial flag}}
  %y = te.compute ["i_tile", "i"] extents affine_map<()[s0] -> (s0 ceildiv 64, 64)> where affine_set<(d0, d1)[s0] : (-(d0 * 64 + d1) + s0 - 1 == 0)> {
  ^bb0(%t: index, %i: index):
    %v = te.read %x[%t, %i] map affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)> : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", out_map = affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)>, shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

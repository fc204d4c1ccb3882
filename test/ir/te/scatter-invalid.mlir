// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C1] extents must be a map without dims over 1 sizes to 1 results, one per index}}
  %y = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0, s0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C1] the condition must be a set over the 1 indices and the sizes}}
  %y = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> where affine_set<(d0, d1)[s0] : (d0 >= 0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C2] must yield a value of 'f32' and 1 subscripts}}
  %y = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C3] or does not combine elements of 'f32'}}
  %y = te.scatter or ["n"] extents affine_map<()[s0] -> (s0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C3] argmax does not combine elements of 'f32'}}
  %y = te.scatter argmax ["n"] extents affine_map<()[s0] -> (s0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C4] combines with elements, and has no init that gives them}}
  %y = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C4] init must be an argument of the kernel or what a statement gives}}
  %y = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0 + 1)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  // expected-error @+1 {{[C5] shape must give the result's 1 dims over the sizes}}
  %y = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> init %x : tensor<?xf32> {
  ^bb0(%n: index):
    %v = te.read %x[%n] : tensor<?xf32>
    te.yield %v, %n : f32, index
  } {name = "y", shape = affine_map<()[s0] -> (s0, s0)>} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

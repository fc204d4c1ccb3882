// RUN: kernelc-opt --te-to-tile %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'te.kernel' op has no plan; run te-plan first}}
te.kernel @no_plan sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

// expected-error @+1 {{schedule of launch 'y': tile size 48 is not a power of two (nor a multiple of 8, as columns of the unit wgmma may be, nor 24, 48 or 96, as one index of rows or columns on CUDA cores may be, nor up to 15, as terms may be that one thread sums there)}}
te.kernel @odd_tile sizes [] args ["x"] : ["f32"] [affine_map<() -> (96)>] outs ["y"] : ["f32"] [affine_map<() -> (96)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>], extents = affine_map<() -> (96)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0>, tiles = array<i64: 48>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64>, size_max = array<i64>, target = "sm_80"}} {
^bb0(%x: tensor<96xf32>):
  %y = te.compute ["i"] extents affine_map<() -> (96)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<96xf32>
    te.yield %v : f32
  } : tensor<96xf32>
  te.return %y : tensor<96xf32>
}

// -----

// expected-error @+1 {{plan of launch 'y' names a statement or an index that is not there}}
te.kernel @no_such_statement sizes [] args ["x"] : ["f32"] [affine_map<() -> (4)>] outs ["y"] : ["f32"] [affine_map<() -> (4)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>], extents = affine_map<() -> (4)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 7>, tiles = array<i64: 4>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64>, size_max = array<i64>, target = "sm_80"}} {
^bb0(%x: tensor<4xf32>):
  %y = te.compute ["i"] extents affine_map<() -> (4)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<4xf32>
    te.yield %v : f32
  } : tensor<4xf32>
  te.return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{size-div: 0 divides no size 'N'; 1 says nothing}}
te.kernel @no_divisor sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {out_alias = array<i64: 0>, plan = {launches = [], size_div = array<i64: 0>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  te.return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{output 'y' is another tensor as it stands; copy it: write an expression}}
te.kernel @one_value_two_places sizes [] args ["x"] : ["f32"] [affine_map<() -> (4)>] outs ["y"] : ["f32"] [affine_map<() -> (4)>]
    attributes {plan = {launches = [], size_div = array<i64>, size_max = array<i64>, target = "sm_80"}} {
^bb0(%x: tensor<4xf32>):
  te.return %x : tensor<4xf32>
}

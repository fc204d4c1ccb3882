// Plans that te-plan does not make.
// RUN: kernelc-opt --te-to-tile %s -split-input-file -verify-diagnostics

// expected-error @+1 {{plan of launch 'y': 'dims' is malformed}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i8: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': 'warps' is malformed}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i32}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': 'indices' is malformed}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = [0],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{has a malformed plan}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i32: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{unknown target 'sm_1'}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_1"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{schedule of launch 'y': 'raster' must be a whole number from 1 to 65536, not 0}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", raster = 0 : i64, warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': 'unit' must be simt, mma or wgmma, not 'tensor'}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "tensor", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': extents must be a map from the kernel's sizes}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<() -> (64)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': statement 0 has other extents than the indices that 'dims' gives it}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0 + 1)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': tiles of more than 2147483648 points}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 4294967296>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y' names a statement or an index that is not there, none, or one twice or out of order}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 1>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y' names a statement or an index that is not there, none, or one twice or out of order}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 1, 0>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y' names a statement or an index that is not there, none, or one twice or out of order}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{has a plan without statement 1}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'z': statement 1 is another launch's, too}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}, {dims = [array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"], name = "z", ops = array<i64: 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// expected-error @+1 {{plan of launch 'y': statement 1 reads what a later launch makes}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 1>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}, {dims = [array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"], name = "z", ops = array<i64: 0>, tiles = array<i64: 64>, unit = "simt", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
// -----
// Only te-plan would choose a unit that fits.
// expected-error @+1 {{schedule of launch 'y': unit mma takes products, and there is none}}
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>]
    attributes {plan = {launches = [{dims = [array<i64: 0>, array<i64: 0>], extents = affine_map<()[s0] -> (s0)>, grid = array<i64: 0>, indices = ["i"],
    name = "y", ops = array<i64: 0, 1>, tiles = array<i64: 64>, unit = "mma", warps = 1 : i64}],
    size_div = array<i64: 1>, size_max = array<i64: -1>, target = "sm_80"}} {
^bb0(%x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

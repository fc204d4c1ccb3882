// Planted plans: what te-plan must never make, a rule each.
// RUN: kernelc-opt --te-verify-plan --split-input-file --verify-diagnostics %s

// An earlier launch has overwritten what is read.
te.kernel @overwritten sizes ["M", "N"] args ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["r", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: 0, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "r", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"},
      {name = "s", ops = array<i64: 1>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>):
  %new = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %r[%i] : tensor<?xf32>
    %v1 = te.read %r[%i] : tensor<?xf32>
    %w1 = arith.addf %v0, %v1 : f32
    te.yield %w1 : f32
  } {name = "r"} : tensor<?xf32>
  // expected-error @+1 {{in launch 's': 's' reads what 'r' has overwritten in launch 'r'}}
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %r[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %new, %s : tensor<?xf32>, tensor<?xf32>
}

// -----

// The same where it goes on from it: what is there is no longer what it stands for.
te.kernel @goes_on sizes ["M", "N"] args ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["r", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: 0, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "a", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"},
      {name = "b", ops = array<i64: 1>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"},
      {name = "c", ops = array<i64: 2>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> init %r : tensor<?xf32> {
  ^bb0(%i: index):
    %v0 = arith.constant 7.0 : f32
    te.yield %v0 : f32
  } {name = "a", out_map = affine_map<(d0)[s0, s1] -> (d0)>, shape = affine_map<()[s0, s1] -> (s0)>} : tensor<?xf32>
  %b = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> init %a : tensor<?xf32> {
  ^bb0(%i: index):
    %v0 = arith.constant 7.0 : f32
    te.yield %v0 : f32
  } {name = "b", out_map = affine_map<(d0)[s0, s1] -> (d0)>, shape = affine_map<()[s0, s1] -> (s0)>} : tensor<?xf32>
  // expected-error @+1 {{in launch 'c': 'c' goes on from memory that 'b' has overwritten}}
  %c = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> init %a : tensor<?xf32> {
  ^bb0(%i: index):
    %v0 = te.read %b[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "c", out_map = affine_map<(d0)[s0, s1] -> (d0)>, shape = affine_map<()[s0, s1] -> (s0)>} : tensor<?xf32>
  te.return %c, %b : tensor<?xf32>, tensor<?xf32>
}

// -----

// A part overwrites what is returned.
te.kernel @returned sizes ["M", "N"] args ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["r", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: 0, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "a", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"},
      {name = "s", ops = array<i64: 1>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>):
  // expected-error @+1 {{in launch 'a': 'a' overwrites what is returned}}
  %a = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> where affine_set<(d0)[s0, s1] : (d0 - 1 >= 0)> init %r : tensor<?xf32> {
  ^bb0(%i: index):
    %v0 = arith.constant 7.0 : f32
    te.yield %v0 : f32
  } {name = "a"} : tensor<?xf32>
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %a[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %r, %s : tensor<?xf32>, tensor<?xf32>
}

// -----

// Pointwise statements in one launch: another point may write what is still to be read.
te.kernel @together sizes ["M", "N"] args ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["r", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: 0, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "r", ops = array<i64: 0, 1>, dims = [array<i64: 0>, array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>):
  // expected-error @+1 {{'s' reads elements that another tile or thread overwrites when it computes 'r'}}
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %r[%i] map affine_map<(d0)[s0, s1] -> (s0 - 1 - d0)> : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  %new = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %r[%i] : tensor<?xf32>
    %v1 = te.read %r[%i] : tensor<?xf32>
    %w1 = arith.addf %v0, %v1 : f32
    te.yield %w1 : f32
  } {name = "r"} : tensor<?xf32>
  te.return %new, %s : tensor<?xf32>, tensor<?xf32>
}

// -----

// A sum over rows that the same launch overwrites; another tile has still to read them.
te.kernel @rows sizes ["M", "N"] args ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] attributes {out_alias = array<i64: 0>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "r", ops = array<i64: 0, 1>, dims = [array<i64: 0, 1>, array<i64: 0, 1>], indices = ["i", "j"], extents = affine_map<()[s0, s1] -> (s0, s1)>,
       tiles = array<i64: 1, 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?x?xf32>):
  // expected-error @+1 {{'sum' reads elements that another tile or thread overwrites when it computes 'r'}}
  %sum = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %k: index):
    %v0 = te.read %r[%k, %i] map affine_map<(d0, d1)[s0, s1] -> (d1 mod 2, d0)> : tensor<?x?xf32>
    te.yield %v0 : f32
  } {name = "sum"} : tensor<?xf32>
  %new = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v0 = te.read %sum[%i] : tensor<?xf32>
    %v1 = te.read %r[%i, %j] : tensor<?x?xf32>
    %w1 = arith.addf %v0, %v1 : f32
    te.yield %w1 : f32
  } {name = "r"} : tensor<?x?xf32>
  te.return %new : tensor<?x?xf32>
}

// -----

// The sum is of the row that is written, but nothing of it is needed there.
te.kernel @unneeded sizes ["M", "N"] args ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["r", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: 0, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "r", ops = array<i64: 0, 1>, dims = [array<i64: 0, 1>, array<i64: 0, 1>], indices = ["i", "j"], extents = affine_map<()[s0, s1] -> (s0, s1)>,
       tiles = array<i64: 1, 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?x?xf32>):
  // expected-error @+1 {{'s' reads elements that another tile or thread overwrites when it computes 'r'}}
  %s = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %k: index):
    %v0 = te.read %r[%i, %k] : tensor<?x?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  %new = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v0 = te.read %r[%i, %j] : tensor<?x?xf32>
    te.yield %v0 : f32
  } {name = "r"} : tensor<?x?xf32>
  te.return %new, %s : tensor<?x?xf32>, tensor<?xf32>
}

// -----

// Every tile along j updates the row's element: the first one may have done so before another one reads it.
te.kernel @every_tile sizes ["M", "N"] args ["x", "w"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0)>]
    outs ["y", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: -1, 1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "s", ops = array<i64: 0, 1>, dims = [array<i64: 0, 1>, array<i64: 0>], indices = ["i", "j"], extents = affine_map<()[s0, s1] -> (s0, s1)>,
       tiles = array<i64: 16, 16>, grid = array<i64: 0, 1>, unit = "simt"}]}} {
^bb0(%x: tensor<?x?xf32>, %w: tensor<?xf32>):
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v0 = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v0 : f32
  } {name = "y"} : tensor<?x?xf32>
  // expected-error @+1 {{'s' is written by every tile along 'j'}}
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %w[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %y, %s : tensor<?x?xf32>, tensor<?xf32>
}

// -----

// Two statements of a launch write one memory.
te.kernel @writers sizes ["M", "N"] args ["r", "x"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>]
    outs ["r"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: 0>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "r", ops = array<i64: 0, 1>, dims = [array<i64: 0>, array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%r: tensor<?xf32>, %x: tensor<?xf32>):
  %a = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> where affine_set<(d0)[s0, s1] : (d0 - 1 >= 0)> init %r : tensor<?xf32> {
  ^bb0(%i: index):
    %v0 = arith.constant 7.0 : f32
    te.yield %v0 : f32
  } {name = "a"} : tensor<?xf32>
  // expected-error @+1 {{'b' writes elements that 'a' writes, and nothing orders them}}
  %b = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> where affine_set<(d0)[s0, s1] : (4 - d0 >= 0)> init %a : tensor<?xf32> {
  ^bb0(%i: index):
    %v0 = te.read %x[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "b"} : tensor<?xf32>
  te.return %b : tensor<?xf32>
}

// -----

// A member's value is at hand at its own point only.
te.kernel @elsewhere sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["y", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: -1, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "s", ops = array<i64: 0, 1>, dims = [array<i64: 0>, array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %x[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "y"} : tensor<?xf32>
  // expected-error @+1 {{'s' reads 'y' elsewhere than at the point that its thread has}}
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %y[%i] map affine_map<(d0)[s0, s1] -> (s0 - 1 - d0)> : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %y, %s : tensor<?xf32>, tensor<?xf32>
}

// -----

// A block walks its tiles one by one: of the row it has one tile.
te.kernel @walked sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: -1, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "s", ops = array<i64: 0, 1>, dims = [array<i64: 0, 1>, array<i64: 0, 1>], indices = ["i", "j"], extents = affine_map<()[s0, s1] -> (s0, s1)>,
       tiles = array<i64: 1, 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%x: tensor<?x?xf32>):
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v0 = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v0 : f32
  } {name = "y"} : tensor<?x?xf32>
  // expected-error @+1 {{'s' reads 'y', of which a block has one tile at a time}}
  %s = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v0 = te.read %y[%i, %j] : tensor<?x?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %y, %s : tensor<?x?xf32>, tensor<?xf32>
}

// -----

// A reader ahead of what it reads.
// expected-error @+1 {{plan of launch 's': statement 1 reads what a later launch makes}}
te.kernel @ahead sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["y", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: -1, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "s", ops = array<i64: 1>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"},
      {name = "y", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %x[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "y"} : tensor<?xf32>
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %y[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %y, %s : tensor<?xf32>, tensor<?xf32>
}

// -----

// A statement that no launch has, and one that two have.
// expected-error @+1 {{has a plan without statement 1}}
te.kernel @nowhere sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["y", "s"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: -1, -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "y", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %x[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "y"} : tensor<?xf32>
  %s = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %x[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "s"} : tensor<?xf32>
  te.return %y, %s : tensor<?xf32>, tensor<?xf32>
}

// -----

// expected-error @+1 {{plan of launch 'again': statement 0 is another launch's, too}}
te.kernel @twice sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] attributes {out_alias = array<i64: -1>,
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "y", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"},
      {name = "again", ops = array<i64: 0>, dims = [array<i64: 0>], indices = ["i"], extents = affine_map<()[s0, s1] -> (s0)>,
       tiles = array<i64: 256>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v0 = te.read %x[%i] : tensor<?xf32>
    te.yield %v0 : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// -----

// A block has a tile of what a reduction gives at a time, and would reduce over all of them.
te.kernel @walked sizes ["M", "N"] args ["x"] : ["i32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["s"] : ["i32"] [affine_map<()[s0, s1] -> (s0, 32)>] attributes {
    plan = {target = "sm_90a", size_div = array<i64: 1, 1>, size_max = array<i64: -1, -1>, launches = [
      {name = "s", ops = array<i64: 0>, dims = [array<i64: 0, 1, 2>], indices = ["i", "c", "k"],
       extents = affine_map<()[s0, s1] -> (s0, 32, s1)>, tiles = array<i64: 1, 2, 64>, grid = array<i64: 0>, unit = "simt"}]}} {
^bb0(%x: tensor<?x?xi32>):
  // expected-error @+1 {{in launch 's': 's' has results along 'c', which a block walks}}
  %s = te.reduce max ["i", "c", "k"] parallel 2 extents affine_map<()[s0, s1] -> (s0, 32, s1)> {
  ^bb0(%i: index, %c: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xi32>
    %w = arith.index_cast %c : index to i32
    %u = arith.xori %v, %w : i32
    te.yield %u : i32
  } {name = "s"} : tensor<?x32xi32>
  te.return %s : tensor<?x32xi32>
}

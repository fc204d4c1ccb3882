// RUN: not kernelc-opt --te-plan="target=sm_80" --split-input-file %s 2>&1 | FileCheck %s

// A matrix unit would cut f32 operands to tf32, which nobody allowed.
// CHECK: error: schedule of launch 'c': unit mma does not take a product of 'f32' and 'f32' on sm_80
te.kernel @wide sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (64, 64)>, affine_map<() -> (64, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (64, 64)>] attributes {schedule = [{launch = "c", unit = "mma"}]} {
^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (64, 64, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %x = te.read %a[%i, %k] : tensor<64x64xf32>
    %y = te.read %b[%j, %k] : tensor<64x64xf32>
    %p = arith.mulf %x, %y : f32
    te.yield %p : f32
  } {name = "c"} : tensor<64x64xf32>
  te.return %c : tensor<64x64xf32>
}

// -----

// CHECK: error: schedule of launch 'c': unit mma needs tiles of at least 16 x 16 x 32, not 64 x 64 x 16
te.kernel @thin sizes [] args ["a", "b"] : ["i8", "i8"] [affine_map<() -> (64, 64)>, affine_map<() -> (64, 64)>]
    outs ["c"] : ["i32"] [affine_map<() -> (64, 64)>] attributes {schedule = [{launch = "c", tiles = {k = 16}}]} {
^bb0(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (64, 64, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %x = te.read %a[%i, %k] : tensor<64x64xi8>
    %u = arith.extsi %x : i8 to i32
    %y = te.read %b[%j, %k] : tensor<64x64xi8>
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %u, %v : i32
    te.yield %p : i32
  } {name = "c"} : tensor<64x64xi32>
  te.return %c : tensor<64x64xi32>
}

// -----

// CHECK: error: schedule of launch 'c': unit wgmma is one of sm_90a; sm_80 has none
te.kernel @bytes sizes [] args ["a", "b"] : ["i8", "i8"] [affine_map<() -> (64, 64)>, affine_map<() -> (64, 64)>]
    outs ["c"] : ["i32"] [affine_map<() -> (64, 64)>] attributes {schedule = [{launch = "c", unit = "wgmma"}]} {
^bb0(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (64, 64, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %x = te.read %a[%i, %k] : tensor<64x64xi8>
    %u = arith.extsi %x : i8 to i32
    %y = te.read %b[%j, %k] : tensor<64x64xi8>
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %u, %v : i32
    te.yield %p : i32
  } {name = "c"} : tensor<64x64xi32>
  te.return %c : tensor<64x64xi32>
}

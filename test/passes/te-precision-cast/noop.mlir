// RUN: kernelc-opt --te-precision-cast %s | FileCheck %s
// CHECK-NOT: te.round
// CHECK-NOT: arith.truncf

// Without a policy nothing is rounded.
// CHECK-LABEL: te.kernel @do_nothing
te.kernel @do_nothing sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] {
^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %ar = te.read %a[%i, %k] : tensor<8x64xf32>
    %br = te.read %b[%j, %k] : tensor<8x64xf32>
    %p = arith.mulf %ar, %br : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

// A matrix unit takes these as they are.
// CHECK-LABEL: te.kernel @exact
te.kernel @exact sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "tf32"}} {
^bb0(%a: tensor<8x64xbf16>, %b: tensor<8x64xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %ar = te.read %a[%i, %k] : tensor<8x64xbf16>
    %av = arith.extf %ar : bf16 to f32
    %br = te.read %b[%j, %k] : tensor<8x64xbf16>
    %bv = arith.extf %br : bf16 to f32
    %p = arith.mulf %av, %bv : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

// Integers and f64 are not lowered.
// CHECK-LABEL: te.kernel @integers
te.kernel @integers sizes [] args ["a", "b"] : ["i32", "i32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["i32"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "bf16"}} {
^bb0(%a: tensor<8x64xi32>, %b: tensor<8x64xi32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %ar = te.read %a[%i, %k] : tensor<8x64xi32>
    %br = te.read %b[%j, %k] : tensor<8x64xi32>
    %p = arith.muli %ar, %br : i32
    te.yield %p : i32
  } {name = "c"} : tensor<8x8xi32>
  te.return %c : tensor<8x8xi32>
}

// CHECK-LABEL: te.kernel @doubles
te.kernel @doubles sizes [] args ["a", "b"] : ["f64", "f64"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f64"] [affine_map<() -> (8, 8)>] attributes {precision = {contract = "bf16"}} {
^bb0(%a: tensor<8x64xf64>, %b: tensor<8x64xf64>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %ar = te.read %a[%i, %k] : tensor<8x64xf64>
    %br = te.read %b[%j, %k] : tensor<8x64xf64>
    %p = arith.mulf %ar, %br : f64
    te.yield %p : f64
  } {name = "c"} : tensor<8x8xf64>
  te.return %c : tensor<8x8xf64>
}

// Sums of one factor, exponentials and pointwise code stay wide.
// CHECK-LABEL: te.kernel @norm
te.kernel @norm sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0, s0)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] attributes {precision = {contract = "bf16"}} {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0] -> (s0, s0)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %e = math.exp %v : f32
    %s = arith.mulf %e, %e : f32
    te.yield %s : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

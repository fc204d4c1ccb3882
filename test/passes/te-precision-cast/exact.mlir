// RUN: kernelc-opt --te-precision-cast %s | FileCheck %s

// Weights of two bits, less one: whole numbers from -1 to 2, which bf16 holds.
// CHECK-LABEL: te.kernel @few_bits
// CHECK: %[[V:.*]] = arith.subf
// CHECK: %[[N:.*]] = arith.truncf %[[V]] : f32 to bf16
// CHECK: %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
// CHECK: arith.mulf %{{.*}}, %[[W]] : f32
te.kernel @few_bits sizes [] args ["x", "w"] : ["bf16", "u8"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] {
^bb0(%x: tensor<8x64xbf16>, %w: tensor<8x64xi8>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %xr = te.read %x[%i, %k] : tensor<8x64xbf16>
    %xv = arith.extf %xr : bf16 to f32
    %wr = te.read %w[%j, %k] : tensor<8x64xi8>
    %wi = arith.extui %wr : i8 to i32
    %three = arith.constant 3 : i32
    %bits = arith.andi %wi, %three : i32
    %wf = arith.sitofp %bits : i32 to f32
    %one = arith.constant 1.0 : f32
    %d = arith.subf %wf, %one : f32
    %p = arith.mulf %xv, %d : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

// Signs, and a factor of blocks of the sum, which stays as it is.
// CHECK-LABEL: te.kernel @signs
// CHECK: %[[V:.*]] = arith.select
// CHECK: %[[N:.*]] = arith.truncf %[[V]] : f32 to bf16
// CHECK: %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
// CHECK: arith.mulf %[[W]], %{{.*}} : f32
te.kernel @signs sizes [] args ["x", "m", "s"] : ["bf16", "bool", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>, affine_map<() -> (8, 2)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] {
^bb0(%x: tensor<8x64xbf16>, %m: tensor<8x64xi1>, %s: tensor<8x2xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %xr = te.read %x[%i, %k] : tensor<8x64xbf16>
    %xv = arith.extf %xr : bf16 to f32
    %mr = te.read %m[%j, %k] : tensor<8x64xi1>
    %one = arith.constant 1.0 : f32
    %less = arith.constant -1.0 : f32
    %v = arith.select %mr, %one, %less : f32
    %sr = te.read %s[%j, %k] map affine_map<(d0, d1) -> (d0, d1 floordiv 32)> : tensor<8x2xf32>
    %vs = arith.mulf %v, %sr : f32
    %p = arith.mulf %xv, %vs : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  te.return %c : tensor<8x8xf32>
}

// Weights of four bits, less eight, beside integers of eight.
// CHECK-LABEL: te.kernel @integers
// CHECK: %[[V:.*]] = arith.subi
// CHECK: %[[N:.*]] = arith.trunci %[[V]] : i32 to i8
// CHECK: %[[W:.*]] = arith.extsi %[[N]] : i8 to i32
// CHECK: arith.muli %{{.*}}, %[[W]] : i32
te.kernel @integers sizes [] args ["x", "w"] : ["i8", "u8"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["i32"] [affine_map<() -> (8, 8)>] {
^bb0(%x: tensor<8x64xi8>, %w: tensor<8x64xi8>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %xr = te.read %x[%i, %k] : tensor<8x64xi8>
    %xv = arith.extsi %xr : i8 to i32
    %wr = te.read %w[%j, %k] : tensor<8x64xi8>
    %wi = arith.extui %wr : i8 to i32
    %fifteen = arith.constant 15 : i32
    %bits = arith.andi %wi, %fifteen : i32
    %eight = arith.constant 8 : i32
    %d = arith.subi %bits, %eight : i32
    %p = arith.muli %xv, %d : i32
    te.yield %p : i32
  } {name = "c"} : tensor<8x8xi32>
  te.return %c : tensor<8x8xi32>
}

// A byte and two more is up to 257, which bf16 does not hold; nor does it hold quotients.
// CHECK-LABEL: te.kernel @too_many
// CHECK-NOT: arith.truncf
// CHECK: te.return
te.kernel @too_many sizes [] args ["x", "w"] : ["bf16", "u8"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c", "d"] : ["f32", "f32"] [affine_map<() -> (8, 8)>, affine_map<() -> (8, 8)>] {
^bb0(%x: tensor<8x64xbf16>, %w: tensor<8x64xi8>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %xr = te.read %x[%i, %k] : tensor<8x64xbf16>
    %xv = arith.extf %xr : bf16 to f32
    %wr = te.read %w[%j, %k] : tensor<8x64xi8>
    %wf = arith.uitofp %wr : i8 to f32
    %two = arith.constant 2.0 : f32
    %d = arith.addf %wf, %two : f32
    %p = arith.mulf %xv, %d : f32
    te.yield %p : f32
  } {name = "c"} : tensor<8x8xf32>
  %d = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (8, 8, 64)> {
  ^bb0(%i: index, %j: index, %k: index):
    %xr = te.read %x[%i, %k] : tensor<8x64xbf16>
    %xv = arith.extf %xr : bf16 to f32
    %wr = te.read %w[%j, %k] : tensor<8x64xi8>
    %wf = arith.uitofp %wr : i8 to f32
    %three = arith.constant 3.0 : f32
    %q = arith.divf %wf, %three : f32
    %p = arith.mulf %xv, %q : f32
    te.yield %p : f32
  } {name = "d"} : tensor<8x8xf32>
  te.return %c, %d : tensor<8x8xf32>, tensor<8x8xf32>
}

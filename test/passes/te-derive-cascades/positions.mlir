// RUN: kernelc-opt '--te-derive-cascades=target=sm_90a' %s | FileCheck %s

// The largest result of each row and where it stands are one cascade, which walks the product's results.

// CHECK-LABEL: te.kernel @greedy
// CHECK: %[[C:.*]]:2 = te.cascade ["max", "min"] ["i", "j"] parallel 1
// CHECK-NOT: te.reduce argmax
// CHECK: te.return %[[C]]#1, %[[C]]#0
te.kernel @greedy sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (4096, 512)>, affine_map<() -> (32000, 512)>]
    outs ["t", "m"] : ["i64", "f32"] [affine_map<() -> (4096)>, affine_map<() -> (4096)>] {
^bb0(%a: tensor<4096x512xbf16>, %b: tensor<32000x512xbf16>):
  %s = te.reduce sum ["i", "j", "d"] parallel 2 extents affine_map<() -> (4096, 32000, 512)> {
  ^bb0(%i: index, %j: index, %d: index):
    %ar = te.read %a[%i, %d] : tensor<4096x512xbf16>
    %av = arith.extf %ar : bf16 to f32
    %br = te.read %b[%j, %d] : tensor<32000x512xbf16>
    %bv = arith.extf %br : bf16 to f32
    %p = arith.mulf %av, %bv : f32
    te.yield %p : f32
  } {name = "s"} : tensor<4096x32000xf32>
  %m = te.reduce max ["i", "j"] parallel 1 extents affine_map<() -> (4096, 32000)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %s[%i, %j] : tensor<4096x32000xf32>
    te.yield %v : f32
  } {name = "m"} : tensor<4096xf32>
  %t = te.reduce argmax ["i", "j"] parallel 1 extents affine_map<() -> (4096, 32000)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %s[%i, %j] : tensor<4096x32000xf32>
    te.yield %v : f32
  } {name = "t"} : tensor<4096xi64>
  te.return %t, %m : tensor<4096xi64>, tensor<4096xf32>
}

// Few columns are in memory as soon as written: the reduction stays what it is.
// CHECK-LABEL: te.kernel @few
// CHECK: te.reduce argmax
te.kernel @few sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (4096, 512)>, affine_map<() -> (64, 512)>]
    outs ["t"] : ["i64"] [affine_map<() -> (4096)>] {
^bb0(%a: tensor<4096x512xbf16>, %b: tensor<64x512xbf16>):
  %s = te.reduce sum ["i", "j", "d"] parallel 2 extents affine_map<() -> (4096, 64, 512)> {
  ^bb0(%i: index, %j: index, %d: index):
    %ar = te.read %a[%i, %d] : tensor<4096x512xbf16>
    %av = arith.extf %ar : bf16 to f32
    %br = te.read %b[%j, %d] : tensor<64x512xbf16>
    %bv = arith.extf %br : bf16 to f32
    %p = arith.mulf %av, %bv : f32
    te.yield %p : f32
  } {name = "s"} : tensor<4096x64xf32>
  %t = te.reduce argmax ["i", "j"] parallel 1 extents affine_map<() -> (4096, 64)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %s[%i, %j] : tensor<4096x64xf32>
    te.yield %v : f32
  } {name = "t"} : tensor<4096xi64>
  te.return %t : tensor<4096xi64>
}

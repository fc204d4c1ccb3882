// RUN: kernelc-opt '--te-derive-cascades=target=sm_90a' %s | FileCheck %s

// l[] = mean_i(logsumexp_j s[i, j] - s[i, t[i]]): the results are walked, and what is read at t[i] is a product of its own.

// CHECK-LABEL: te.kernel @token_loss
// CHECK: te.cascade
// CHECK: %[[S:.*]] = te.reduce sum ["i", "d"] parallel 1 extents #{{.*}} {
// CHECK: %[[T:.*]] = te.read %arg2[%{{.*}}] : tensor<4096xi64>
// CHECK: %[[AT:.*]] = arith.index_cast %[[T]] : i64 to index
// CHECK: te.read %arg1[%[[AT]], %{{.*}}] pad %{{.*}} : tensor<32000x512xbf16>
// CHECK: te.reduce sum ["i"] parallel 0
// CHECK: te.read %[[S]][%{{.*}}] : tensor<?xf32>
// CHECK: arith.select
te.kernel @token_loss sizes [] args ["a", "b", "t"] : ["bf16", "bf16", "i64"] [affine_map<() -> (4096, 512)>, affine_map<() -> (32000, 512)>, affine_map<() -> (4096)>]
    outs ["l"] : ["f32"] [affine_map<() -> ()>] {
^bb0(%a: tensor<4096x512xbf16>, %b: tensor<32000x512xbf16>, %t: tensor<4096xi64>):
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
  %e = te.reduce sum ["i", "j"] parallel 1 extents affine_map<() -> (4096, 32000)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %s[%i, %j] : tensor<4096x32000xf32>
    %w = te.read %m[%i] : tensor<4096xf32>
    %d = arith.subf %v, %w : f32
    %x = math.exp %d : f32
    te.yield %x : f32
  } {name = "e"} : tensor<4096xf32>
  %l = te.reduce sum ["i"] parallel 0 extents affine_map<() -> (4096)> {
  ^bb0(%i: index):
    %zero = arith.constant 0.0 : f32
    %w = te.read %m[%i] : tensor<4096xf32>
    %x = te.read %e[%i] : tensor<4096xf32>
    %g = math.log %x : f32
    %y = arith.addf %w, %g : f32
    %tr = te.read %t[%i] : tensor<4096xi64>
    %at = arith.index_cast %tr : i64 to index
    %v = te.read %s[%i, %at] pad %zero : tensor<4096x32000xf32>
    %d = arith.subf %y, %v : f32
    te.yield %d : f32
  } {name = "l"} : tensor<f32>
  te.return %l : tensor<f32>
}

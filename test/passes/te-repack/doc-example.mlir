// Rows of 4097 elements: copied with rows of 4160, zeros behind the last element.
// RUN: kernelc-opt --te-repack="target=sm_90a" %s | FileCheck %s
te.kernel @matmul sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (4096, 4096)>, affine_map<() -> (4096, 4097)>]
    outs ["c"] : ["f32"] [affine_map<() -> (4096, 4097)>] {
^bb0(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4097xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (4096, 4097, 4096)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<4096x4096xbf16>
    %v = te.read %b[%k, %j] : tensor<4096x4097xbf16>
    %x = arith.extf %u : bf16 to f32
    %y = arith.extf %v : bf16 to f32
    %w = arith.mulf %x, %y : f32
    te.yield %w : f32
  } {name = "c"} : tensor<4096x4097xf32>
  te.return %c : tensor<4096x4097xf32>
}
// CHECK-DAG: #[[ROWS:.*]] = affine_map<() -> (4096, 4160)>
// CHECK-LABEL: te.kernel @matmul
// CHECK: ^bb0(%[[A:.*]]: tensor<4096x4096xbf16>, %[[B:.*]]: tensor<4096x4097xbf16>):
// CHECK: %[[P:.*]] = te.compute ["d0", "d1"] extents #[[ROWS]]
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: te.read %[[B]]{{.*}} pad %[[ZERO]]
// CHECK: {name = "b_rows"}
// CHECK: %[[R:.*]] = te.reduce sum
// CHECK: te.read %[[A]]
// CHECK: te.read %[[P]]
// CHECK: {name = "c"}
// CHECK: te.return %[[R]]

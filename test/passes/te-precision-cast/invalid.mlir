// RUN: not kernelc-opt --te-precision-cast="policy=contract=f31" %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kernelc-opt --te-precision-cast="policy=accumulate=f16" %s 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not kernelc-opt --te-precision-cast %s 2>&1 | FileCheck %s --check-prefix=MALFORMED
// NONE: invalid.mlir:[[#LINE:]]:{{.*}} error: contract takes tf32, bf16, f16, f8e4m3, f8e5m2, bf16x3 or tf32x3, not 'f31'
// SUMS: error: accumulate takes f32 or fast, not 'f16'
// MALFORMED: error: 'precision' has a malformed entry 'tolerance'
te.kernel @k sizes [] args ["a", "b"] : ["f32", "f32"] [affine_map<() -> (8, 64)>, affine_map<() -> (8, 64)>]
    outs ["c"] : ["f32"] [affine_map<() -> (8, 8)>] attributes {precision = {tolerance = "big"}} {
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

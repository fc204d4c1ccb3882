// Both factors as sums of two bf16, over three parts: high·high, high·low, low·high.
// RUN: kernelc-opt --te-precision-cast="policy=contract=bf16x3" %s | FileCheck %s
// RUN: kernelc-opt --te-precision-cast="policy=contract=tf32x3" %s | FileCheck %s --check-prefix=TF32
te.kernel @matmul sizes ["M", "N", "K"] args ["a", "b"] : ["f32", "f32"]
    [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (s1, s2)>]
    outs ["c"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>] {
^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s1, s2)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<?x?xf32>
    %v = te.read %b[%j, %k] : tensor<?x?xf32>
    %w = arith.mulf %u, %v : f32
    te.yield %w : f32
  } {name = "c"} : tensor<?x?xf32>
  te.return %c : tensor<?x?xf32>
}
// CHECK: affine_map<()[s0, s1, s2] -> (s0, s1, 3, s2)>
// CHECK: te.kernel @matmul {{.*}}rounded_accumulate
// CHECK: te.reduce sum ["i", "j", "part", "k"] parallel 2
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[PART:.*]]: index, %{{.*}}: index):
// CHECK: %[[A:.*]] = te.read
// CHECK: %[[B:.*]] = te.read
// The first factor has its low part in the last of three parts (part // 2), the second in the middle one (part % 2).
// CHECK: %[[HALF:.*]] = arith.floordivsi %[[PART]], %{{.*}}
// CHECK: %[[LOW:.*]] = arith.cmpi eq, %[[HALF]]
// What bf16 does not reach is left to the low part, so that nothing finite becomes infinite.
// CHECK: %[[ABOVE:.*]] = arith.maximumf %[[A]], %{{.*}} : f32
// CHECK: %[[MOST:.*]] = arith.constant 3.38953139E+38 : f32
// CHECK: %[[WITHIN:.*]] = arith.minimumf %[[ABOVE]], %[[MOST]] : f32
// CHECK: %[[HIGH:.*]] = arith.truncf %[[WITHIN]] {te.high_part} : f32 to bf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[HIGH]]
// CHECK: %[[REST:.*]] = arith.subf %[[A]], %[[WIDE]]
// CHECK: %[[REAL:.*]] = arith.cmpf ord, %[[REST]], %[[REST]]
// CHECK: arith.select %[[REAL]], %[[REST]]
// CHECK: arith.select %[[LOW]]
// CHECK: %[[TWICE:.*]] = arith.muli
// CHECK: %[[ODD:.*]] = arith.subi %[[PART]], %[[TWICE]]
// CHECK: arith.cmpi eq, %[[ODD]]
// CHECK: arith.maximumf %[[B]]
// CHECK: arith.truncf
// CHECK: arith.mulf
// CHECK: precision = "the product of 'c' multiplies its operands as sums of two bf16: three products of them"
// TF32: %[[A:.*]] = te.read
// TF32: %[[B:.*]] = te.read
// TF32: arith.maximumf %[[A]]
// TF32: %[[WITHIN:.*]] = arith.minimumf
// TF32: %[[HIGH:.*]] = te.round %[[WITHIN]] to tf32
// TF32: %[[REST:.*]] = arith.subf %[[A]], %[[HIGH]]
// TF32: %[[REAL:.*]] = arith.cmpf ord, %[[REST]], %[[REST]]
// TF32: %[[LEFT:.*]] = arith.select %[[REAL]], %[[REST]]
// TF32: te.round %[[LEFT]] to tf32
// TF32: arith.select
// TF32: %[[PARTOFA:[0-9a-z]*]] = te.round
// TF32: arith.maximumf %[[B]]
// TF32: te.round
// TF32: arith.subf %[[B]]
// TF32: te.round
// TF32: %[[PARTOFB:[0-9a-z]*]] = te.round
// TF32-NEXT: arith.mulf %[[PARTOFA]], %[[PARTOFB]]
// TF32: precision = "the product of 'c' multiplies its operands as sums of two tf32: three products of them"

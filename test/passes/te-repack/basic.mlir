// Sizes that are bounded but whose divisors are not known; both operands; one tensor that two products read.
// RUN: kernelc-opt --te-repack="target=sm_90a size-max=2048,2048,2048 size-div=8,8,4" %s 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// REMARK: remark: the rows of 'a' are not known to be multiples of 16 bytes: it is copied into an aligned workspace first
// REMARK: remark: the rows of 'b' are not known
// REMARK-NOT: remark:
// CHECK: #[[B:.*]] = affine_map<()[s0, s1, s2] -> (s1, (s2 ceildiv 64) * 64)>
// CHECK: #[[A:.*]] = affine_map<()[s0, s1, s2] -> (s0, (s2 ceildiv 64) * 64)>
// CHECK: te.compute ["d0", "d1"] extents #[[B]]
// CHECK: {name = "b_rows"}
// CHECK: te.compute ["d0", "d1"] extents #[[A]]
// CHECK: {name = "a_rows"}
// CHECK-NOT: te.compute
te.kernel @both sizes ["M", "N", "K"] args ["a", "b"] : ["bf16", "bf16"] [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (s1, s2)>]
    outs ["c", "d"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s0, s0)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s1, s2)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<?x?xbf16>
    %v = te.read %b[%j, %k] : tensor<?x?xbf16>
    %x = arith.extf %u : bf16 to f32
    %y = arith.extf %v : bf16 to f32
    %w = arith.mulf %x, %y : f32
    te.yield %w : f32
  } {name = "c"} : tensor<?x?xf32>
  %d = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s0, s2)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<?x?xbf16>
    %v = te.read %a[%j, %k] : tensor<?x?xbf16>
    %x = arith.extf %u : bf16 to f32
    %y = arith.extf %v : bf16 to f32
    %w = arith.mulf %x, %y : f32
    te.yield %w : f32
  } {name = "d"} : tensor<?x?xf32>
  te.return %c, %d : tensor<?x?xf32>, tensor<?x?xf32>
}

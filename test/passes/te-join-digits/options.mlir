// What is known of a size makes it the rows of a page; nothing known, and the indices stay two.
// RUN: kernelc-opt '--te-join-digits=size-div=1,1,1,16 size-max=-1,-1,-1,16' %s | FileCheck %s
// RUN: kernelc-opt --te-join-digits %s | FileCheck %s --check-prefix=APART
// CHECK: te.reduce sum ["i", "n_c", "d"] parallel 2
// CHECK: te.reduce sum ["i", "d", "n_c"] parallel 2
// APART: te.reduce sum ["i", "n", "c", "d"] parallel 3
// APART: te.reduce sum ["i", "d", "n", "c"] parallel 2
#id = affine_map<()[s0, s1, s2, s3] -> (s0, s1)>
#ncd = affine_map<()[s0, s1, s2, s3] -> (s2, s3, s1)>
te.kernel @pages sizes ["S", "D", "N", "C"] args ["q", "k", "v"] : ["bf16", "bf16", "bf16"] [#id, #ncd, #ncd] outs ["o"] : ["f32"] [#id] {
^bb0(%q: tensor<?x?xbf16>, %k: tensor<?x?x?xbf16>, %v: tensor<?x?x?xbf16>):
  %s = te.reduce sum ["i", "n", "c", "d"] parallel 3 extents affine_map<()[s0, s1, s2, s3] -> (s0, s2, s3, s1)> {
  ^bb0(%i: index, %n: index, %c: index, %d: index):
    %x = te.read %q[%i, %d] : tensor<?x?xbf16>
    %y = te.read %k[%n, %c, %d] : tensor<?x?x?xbf16>
    %xf = arith.extf %x : bf16 to f32
    %yf = arith.extf %y : bf16 to f32
    %p = arith.mulf %xf, %yf : f32
    te.yield %p : f32
  } : tensor<?x?x?xf32>
  %o = te.reduce sum ["i", "d", "n", "c"] parallel 2 extents affine_map<()[s0, s1, s2, s3] -> (s0, s1, s2, s3)> {
  ^bb0(%i: index, %d: index, %n: index, %c: index):
    %x = te.read %s[%i, %n, %c] : tensor<?x?x?xf32>
    %xb = arith.truncf %x : f32 to bf16
    %y = te.read %v[%n, %c, %d] : tensor<?x?x?xbf16>
    %xf = arith.extf %xb : bf16 to f32
    %yf = arith.extf %y : bf16 to f32
    %p = arith.mulf %xf, %yf : f32
    te.yield %p : f32
  } : tensor<?x?xf32>
  te.return %o : tensor<?x?xf32>
}

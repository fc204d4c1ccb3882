// RUN: kernelc-opt %s | kernelc-opt | FileCheck %s
// RUN: kernelc-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: te.kernel @first_of_largest
// CHECK: %{{.*}}:2 = te.fold ["i", "k"] parallel 1 extents #{{.*}} from [0xFF800000 : f32, -1] fields [0, 1] monoid {
// CHECK: } combine {
// CHECK: } {law_text = "why", name = "best"} : tensor<?xf32>, tensor<?xi64>

// A result that nobody uses goes; what is said of the fold stays.
// CANON: %{{.*}} = te.fold {{.*}} fields [1] monoid {
// CANON: } {law_text = "why", name = "best"} : tensor<?xi64>
te.kernel @first_of_largest sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["i64"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %v, %i = te.fold ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0xFF800000 : f32, -1] fields [0, 1] monoid {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    %at = arith.index_cast %k : index to i64
    te.yield %v, %at : f32, i64
  } combine {
  ^bb0(%a: f32, %at: i64, %b: f32, %bt: i64):
    %later = arith.cmpf ogt, %b, %a : f32
    %w = arith.select %later, %b, %a : f32
    %wt = arith.select %later, %bt, %at : i64
    te.yield %w, %wt : f32, i64
  } {name = "best", law_text = "why"} : tensor<?xf32>, tensor<?xi64>
  te.return %i : tensor<?xi64>
}

// A state of another type than the elements; a scan.
// CHECK-LABEL: te.kernel @steps
// CHECK: te.fold ["j", "k"] parallel 1 extents #{{.*}} where #{{.*}} from [0.000000e+00 : f32] fields [0] {
te.kernel @steps sizes ["N"] args ["x"] : ["i32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xi32>):
  %y = te.fold ["j", "k"] parallel 1 extents affine_map<()[s0] -> (s0, s0)> where affine_set<(d0, d1)[s0] : (d0 - d1 >= 0)>
      from [0.0 : f32] fields [0] {
  ^bb0(%j: index, %k: index):
    %v = te.read %x[%k] : tensor<?xi32>
    te.yield %v : i32
  } combine {
  ^bb0(%s: f32, %v: i32):
    %f = arith.sitofp %v : i32 to f32
    %half = arith.constant 0.5 : f32
    %d = arith.mulf %s, %half : f32
    %n = arith.addf %d, %f : f32
    te.yield %n : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// RUN: kernelc-opt --te-mask-to-domain %s | FileCheck %s

// CHECK-NOT: where

// CHECK-LABEL: te.kernel @do_nothing
te.kernel @do_nothing sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Zero is not the identity of a maximum; nor is -inf that of an argmax, which has an
// answer among masked keys.
// CHECK-LABEL: te.kernel @other_identity
// CHECK: arith.select
// CHECK: arith.select
te.kernel @other_identity sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y", "z"] : ["f32", "i64"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce max ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpi sle, %j, %i : index
    %m = arith.select %c, %v, %zero : f32
    te.yield %m : f32
  } : tensor<?xf32>
  %z = te.reduce argmax ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %low = arith.constant 0xFF800000 : f32
    %c = arith.cmpi sle, %j, %i : index
    %m = arith.select %c, %v, %low : f32
    te.yield %m : f32
  } : tensor<?xi64>
  te.return %y, %z : tensor<?xf32>, tensor<?xi64>
}

// A condition on data, a disjunction, and one that leaves an added term.
// CHECK-LABEL: te.kernel @other_conditions
// CHECK-COUNT-3: arith.select
te.kernel @other_conditions sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %a = arith.select %positive, %v, %zero : f32
    %low = arith.cmpi sle, %j, %i : index
    %same = arith.cmpi eq, %j, %i : index
    %either = arith.ori %low, %positive : i1
    %b = arith.select %either, %a, %zero : f32
    %d = arith.select %same, %b, %zero : f32
    %e = arith.addf %d, %one : f32
    te.yield %e : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// RUN: kernelc-opt --te-mask-to-domain --te-simplify %s | FileCheck %s

// CHECK-DAG: #[[UP:.*]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 >= 0)>
// CHECK-DAG: #[[BAND:.*]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 >= 0, -d0 + d1 + 4 >= 0)>
// CHECK-DAG: #[[STEP:.*]] = affine_set<(d0, d1)[s0, s1] : (d1 mod 3 == 0)>

// Zero by way of a function of the masked value: tanh(sqrt(0)) * anything.
// CHECK-LABEL: te.kernel @factor
// CHECK: te.reduce sum {{.*}} where #[[UP]]
// CHECK-NOT: arith.select
// CHECK: te.return
te.kernel @factor sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpi sgt, %j, %i : index
    %m = arith.select %c, %zero, %v : f32
    %s = math.sqrt %m : f32
    %t = math.tanh %s : f32
    %p = arith.mulf %t, %v : f32
    te.yield %p : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Both ends of a band, as a conjunction.
// CHECK-LABEL: te.kernel @band
// CHECK: te.reduce max {{.*}} where #[[BAND]]
// CHECK-NOT: arith.cmpi
// CHECK: te.return
te.kernel @band sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce max ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %low = arith.constant 0xFF800000 : f32
    %four = arith.constant 4 : index
    %first = arith.subi %i, %four : index
    %a = arith.cmpi sle, %j, %i : index
    %b = arith.cmpi sge, %j, %first : index
    %c = arith.andi %a, %b : i1
    %m = arith.select %c, %v, %low : f32
    te.yield %m : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// A residue class, and a product whose identity is one.
// CHECK-LABEL: te.kernel @step
// CHECK: te.reduce prod {{.*}} where #[[STEP]]
te.kernel @step sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce prod ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0 : index
    %three = arith.constant 3 : index
    %q = arith.floordivsi %j, %three : index
    %q3 = arith.muli %q, %three : index
    %r = arith.subi %j, %q3 : index
    %c = arith.cmpi ne, %r, %zero : index
    %m = arith.select %c, %one, %v : f32
    te.yield %m : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// A factor that a precision policy rounds is still zero.
// CHECK-LABEL: te.kernel @rounded
// CHECK: te.reduce sum {{.*}} where #[[UP]]
te.kernel @rounded sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpi sle, %j, %i : index
    %m = arith.select %c, %v, %zero : f32
    %r = te.round %m to tf32 : f32
    %p = arith.mulf %r, %v : f32
    te.yield %p : f32
  } : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

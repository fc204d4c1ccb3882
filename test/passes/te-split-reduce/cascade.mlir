// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=1,4194304 size-max=1,4194304" --canonicalize %s | FileCheck %s

// Chunks of the row leave a maximum and the first position that has it; the second
// cascade keeps the positions of chunks that have the best key.
// CHECK-LABEL: te.kernel @first
// CHECK: %[[PART:.*]]:2 = te.cascade ["max", "min"] ["i", "j_part", "j"] parallel 2
// CHECK: te.read %{{.*}} : tensor<?x?xf32>
// CHECK: } rescale {
// CHECK: ^bb0(%[[OLD:.*]]: f32, %[[AT:.*]]: i64, %[[NEW:.*]]: f32, %{{.*}}: i64):
// CHECK: arith.cmpf oeq, %[[OLD]], %[[NEW]]
// CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %[[AT]],
// CHECK: te.yield %[[OLD]], %[[KEPT]]
// CHECK: %[[Y:.*]]:2 = te.cascade ["max", "min"] ["i", "j_part"] parallel 1
// CHECK: te.read %[[PART]]#0
// CHECK: te.read %[[PART]]#1
// CHECK: te.return %[[Y]]#1
te.kernel @first sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["i64"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce argmax ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xi64>
  te.return %y : tensor<?xi64>
}

// Among floats a minimum propagates NaN where an argmin avoids it: the maximum of what is negated, of which a NaN has the least key and a
// position beyond all others. The last cascade takes that position back.
// CHECK-LABEL: te.kernel @other
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[BEYOND:.*]] = arith.constant 4611686018427387904 : i64
// CHECK: te.cascade ["max", "min"] ["i", "j_part", "j"] parallel 2
// CHECK: %[[NAN:.*]] = arith.cmpf uno
// CHECK: arith.addi %{{.*}}, %[[BEYOND]] : i64
// CHECK: %[[NEG:.*]] = arith.negf
// CHECK: arith.select %[[NAN]], %[[LEAST]], %[[NEG]] : f32
// CHECK: te.cascade ["max", "min"] ["i", "j_part"] parallel 1
// CHECK: arith.subi %{{.*}}, %[[BEYOND]] : i64
te.kernel @other sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["i64"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce argmin ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xi64>
  te.return %y : tensor<?xi64>
}

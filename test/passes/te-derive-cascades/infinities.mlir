// States at the identity of the maximum are kept while it stays, and count as zero once it moves; sums with a factor are zero there,
// and take the NaN of a row of -inf from the sum without it.
// RUN: kernelc-opt --te-derive-cascades=always --canonicalize %s | FileCheck %s

// CHECK-LABEL: te.kernel @weighted
// CHECK: te.cascade ["max", "sum", "sum"]
// CHECK: %[[LOW:.*]] = arith.cmpf oeq, %{{.*}}, %[[INF:.*]] : f32
// CHECK: arith.select %[[LOW]], %[[ZERO:.*]], %{{.*}}
// CHECK: } rescale {
// CHECK: ^bb0(%[[M:[a-z0-9]+]]: f32, %[[L:[a-z0-9]+]]: f32, %[[O:[a-z0-9]+]]: f32, %[[TO:[a-z0-9]+]]: f32,
// CHECK-DAG: %[[NONE:.*]] = arith.cmpf oeq, %[[M]], %[[INF]]
// CHECK-DAG: %[[STAYS:.*]] = arith.cmpf oeq, %[[M]], %[[TO]]
// CHECK: %[[KEEPS:.*]] = arith.ori %[[STAYS]], %[[NONE]]
// CHECK: %[[BY:.*]] = arith.select %[[KEEPS]]
// CHECK: arith.mulf %[[O]], %[[BY]]
// CHECK: } finalize {
// CHECK: ^bb0(%{{.*}}: index, %[[M:[a-z0-9]+]]: f32, %[[L:[a-z0-9]+]]: f32, %[[O:[a-z0-9]+]]: f32):
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[M]], %[[INF]]
// CHECK: arith.select %[[NONE]], %[[L]], %[[O]]
te.kernel @weighted sizes ["M", "N"] args ["x", "w"] : ["f32", "f32"] [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
  %m = te.reduce max ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } : tensor<?xf32>
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %u = te.read %w[%i, %j] : tensor<?x?xf32>
    %r = te.read %m[%i] : tensor<?xf32>
    %d = arith.subf %v, %r : f32
    %e = math.exp %d : f32
    %p = arith.mulf %e, %u : f32
    te.yield %p : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

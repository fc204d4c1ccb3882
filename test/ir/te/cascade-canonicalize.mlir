// RUN: kernelc-opt --canonicalize %s | FileCheck %s

// The count is nobody's; the maximum is the sum's.
// CHECK-LABEL: te.kernel @unused
// CHECK: %[[R:.*]]:2 = te.cascade ["max", "sum"] ["i", "j"]
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: te.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: rescale
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: finalize
// CHECK: te.return %[[R]]#1
te.kernel @unused sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %m, %n, %y = te.cascade ["max", "sum", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %count: i32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %one = arith.constant 1 : i32
    %d = arith.subf %v, %max : f32
    %e = math.exp %d : f32
    te.yield %v, %one, %e : f32, i32, f32
  } rescale {
  ^bb0(%max: f32, %count: i32, %sum: f32, %newmax: f32, %newcount: i32, %newsum: f32):
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.cmpf oeq, %max, %low : f32
    %d = arith.subf %max, %newmax : f32
    %e = math.exp %d : f32
    %f = arith.select %none, %zero, %e : f32
    %s = arith.mulf %sum, %f : f32
    te.yield %max, %count, %s : f32, i32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %count: i32, %sum: f32):
    te.yield %max, %count, %sum : f32, i32, f32
  } : tensor<?xf32>, tensor<?xi32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Dims of its own go with a component.
// CHECK-LABEL: te.kernel @own_dims
// CHECK: te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims {{\[\[}}0], [0, 1]] extents
te.kernel @own_dims sizes ["M", "N", "D"] args ["x", "v"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s1, s2)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s0, s2)>] {
^bb0(%x: tensor<?x?xf32>, %v: tensor<?x?xf32>):
  %m, %l, %o = te.cascade ["max", "sum", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0], [0, 1]] extents affine_map<()[s0, s1, s2] -> (s0, s2, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32, %out: f32):
    %s = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %v[%j, %d] : tensor<?x?xf32>
    %p = arith.mulf %s, %w : f32
    %q = arith.mulf %p, %max : f32
    te.yield %s, %s, %q : f32, f32, f32
  } rescale {
  ^bb0(%max: f32, %sum: f32, %out: f32, %newmax: f32, %newsum: f32, %newout: f32):
    te.yield %max, %sum, %out : f32, f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32, %out: f32):
    te.yield %max, %sum, %out : f32, f32, f32
  } : tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>
  te.return %o : tensor<?x?xf32>
}

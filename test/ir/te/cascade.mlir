// RUN: kernelc-opt %s | kernelc-opt | FileCheck %s
// RUN: kernelc-opt %s --emit-bytecode | kernelc-opt | FileCheck %s

// CHECK-LABEL: te.kernel @lse
te.kernel @lse sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  // CHECK: te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents #{{.*}} where #{{.*}} {
  // CHECK: te.yield %{{.*}}, %{{.*}} : f32, f32
  // CHECK: } rescale {
  // CHECK: } finalize {
  // CHECK: } {name = "y"} : tensor<?xf32>, tensor<?xf32>
  %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)>
      where affine_set<(d0, d1)[s0, s1] : (d0 - d1 >= 0)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %d = arith.subf %v, %max : f32
    %e = math.exp %d : f32
    te.yield %v, %e : f32, f32
  } rescale {
  ^bb0(%max: f32, %sum: f32, %newmax: f32, %newsum: f32):
    %d = arith.subf %max, %newmax : f32
    %e = math.exp %d : f32
    %s = arith.mulf %sum, %e : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.cmpf oeq, %sum, %zero : f32
    %kept = arith.select %none, %sum, %s : f32
    te.yield %max, %kept : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    %l = math.log %sum : f32
    %r = arith.addf %max, %l : f32
    te.yield %max, %r : f32, f32
  } {name = "y"} : tensor<?xf32>, tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// Components with dims of their own.
// CHECK-LABEL: te.kernel @own
te.kernel @own sizes ["M", "N", "D"] args ["x", "v"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s1, s2)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s0, s2)>] {
^bb0(%x: tensor<?x?xf32>, %v: tensor<?x?xf32>):
  // CHECK: te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims {{\[\[}}0], [0, 1]] extents
  // CHECK: } : tensor<?xf32>, tensor<?x?xf32>
  %m, %o = te.cascade ["max", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0, 1]] extents affine_map<()[s0, s1, s2] -> (s0, s2, s1)> {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %out: f32):
    %s = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %v[%j, %d] : tensor<?x?xf32>
    %p = arith.mulf %s, %w : f32
    te.yield %s, %p : f32, f32
  } rescale {
  ^bb0(%max: f32, %out: f32, %newmax: f32, %newout: f32):
    te.yield %max, %out : f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %out: f32):
    %y = arith.mulf %max, %out : f32
    te.yield %max, %y : f32, f32
  } : tensor<?xf32>, tensor<?x?xf32>
  te.return %o : tensor<?x?xf32>
}

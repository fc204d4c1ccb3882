// RUN: kernelc-opt %s | kernelc-opt | FileCheck %s
// RUN: kernelc-opt %s --emit-bytecode | kernelc-opt | FileCheck %s

// CHECK-LABEL: te.kernel @softmax_max
te.kernel @softmax_max sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  // CHECK: te.reduce max ["i", "j"] parallel 1
  %m = te.reduce max ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "m"} : tensor<?xf32>
  // CHECK: te.compute ["i", "j"]
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    // CHECK: te.read %{{.*}}[%{{.*}}, %{{.*}}] map {{.*}} edge
    %v = te.read %x[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (d0, d1 + 1)> edge : tensor<?x?xf32>
    %mi = te.read %m[%i] : tensor<?xf32>
    %n = te.size affine_map<()[s0, s1] -> (s1)>
    %s = arith.subf %v, %mi : f32
    // CHECK: te.round %{{.*}} to tf32 : f32
    %r = te.round %s to tf32 : f32
    te.yield %r : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
}

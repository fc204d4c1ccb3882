// RUN: kernelc-opt %s | kernelc-opt | FileCheck %s
// States of a reducer of the program: a component in each input.

%x = arith.constant dense<0.0> : tensor<2x8xf32>
%n = arith.constant dense<0> : tensor<2x8xi32>

// CHECK: tile.reduce custom %{{.*}}, %{{.*}} dims [1] from [0.000000e+00 : f32, 0 : i32]
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
// CHECK: tile.state %{{.*}}, %{{.*}} : f32, i32
%s:2 = tile.reduce custom %x, %n dims [1] from [0.0 : f32, 0 : i32] : tensor<2x8xf32>, tensor<2x8xi32> -> tensor<2x1xf32>, tensor<2x1xi32> {
^bb0(%a: f32, %m: i32, %b: f32, %k: i32):
  %c = arith.addf %a, %b : f32
  %l = arith.maxsi %m, %k : i32
  tile.state %c, %l : f32, i32
}

%c = arith.constant dense<0.0> : tensor<2x1xf32>
// CHECK: tile.scan custom %{{.*}} from %{{.*}} along 1 neutral [0.000000e+00 : f32]
%y, %t = tile.scan custom %x from %c along 1 neutral [0.0 : f32] : tensor<2x8xf32> from tensor<2x1xf32> -> tensor<2x8xf32> total tensor<2x1xf32> {
^bb0(%a: f32, %b: f32):
  %d = arith.addf %a, %b : f32
  tile.state %d : f32
}

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%c = memref.alloc() : memref<4x8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%o = arith.constant 0 : index
// expected-error @+1 {{[C1] map must go from the indices to the tensor's 2 dims}}
tile.store %t, %c[%o, %o] map affine_map<(d0, d1) -> (d1)> : tensor<4x8xf32>, memref<4x8xf32>
// -----
%c = memref.alloc() : memref<4x8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%o = arith.constant 0 : index
// expected-error @+1 {{[C2] clip must hold dims of the tensor, of which there are 2, in rising order}}
tile.store %t, %c[%o, %o] map affine_map<(d0, d1) -> (d0, d1)> {clip = array<i64: 2>} : tensor<4x8xf32>, memref<4x8xf32>
// -----
%c = memref.alloc() : memref<4x8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%o = arith.constant 0 : index
// expected-error @+1 {{[C2] clip must hold dims of the tensor, of which there are 2, in rising order}}
tile.store %t, %c[%o, %o] map affine_map<(d0, d1) -> (d0, d1)> {clip = array<i64: 1, 1>} : tensor<4x8xf32>, memref<4x8xf32>

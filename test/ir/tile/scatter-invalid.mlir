// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%c = memref.alloc() : memref<8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%o = arith.constant 0 : index
// expected-error @+1 {{map must go from the 2 indices and 0 index tiles to the tensor's 1 dims}}
tile.scatter sum %t, %c[%o, %o] map affine_map<(d0, d1, d2) -> (d2)> : tensor<4x8xf32>, memref<8xf32>
// -----
%c = memref.alloc() : memref<8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%i = arith.constant dense<0> : tensor<4x1xindex>
%o = arith.constant 0 : index
// expected-error @+1 {{[C1] takes index tiles of integers with its value's shape, not 'tensor<4x1xindex>'}}
tile.scatter sum %t, %c[%o, %o] map affine_map<(d0, d1, d2) -> (d2)> indices %i : tensor<4x1xindex> : tensor<4x8xf32>, memref<8xf32>
// -----
%c = memref.alloc() : memref<8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%b = arith.constant dense<true> : tensor<1x8xi1>
%o = arith.constant 0 : index
// expected-error @+1 {{[C2] takes as condition a tile of i1 with the value's shape, not 'tensor<1x8xi1>'}}
tile.scatter unique %t, %c[%o, %o] map affine_map<(d0, d1) -> (d1)> if %b : tensor<1x8xi1> : tensor<4x8xf32>, memref<8xf32>
// -----
%c = memref.alloc() : memref<8xf16>
%t = arith.constant dense<0.0> : tensor<4x8xf16>
%o = arith.constant 0 : index
// expected-error @+1 {{[C3] does not combine elements of 'f16' by sum}}
tile.scatter sum %t, %c[%o, %o] map affine_map<(d0, d1) -> (d1)> : tensor<4x8xf16>, memref<8xf16>
// -----
%c = memref.alloc() : memref<8xf32>
%t = arith.constant dense<0.0> : tensor<4x8xf32>
%o = arith.constant 0 : index
// expected-error @+1 {{[C3] has tallies of 0 elements, and needs a kind that combines them}}
tile.scatter sum %t, %c[%o, %o] map affine_map<(d0, d1) -> (d1)> {tallies = 2 : i64} : tensor<4x8xf32>, memref<8xf32>

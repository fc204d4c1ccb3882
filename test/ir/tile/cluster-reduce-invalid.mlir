// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%x = arith.constant dense<0.0> : tensor<4xf32>
// expected-error @+1 {{[C1] has as many results as inputs, of the same types}}
%y = tile.cluster_reduce sum %x : tensor<4xf32> -> tensor<8xf32>

// -----

%key = arith.constant dense<0.0> : tensor<4xf32>
%position = arith.constant dense<0> : tensor<4xindex>
// expected-error @+1 {{[C1] has as many results as inputs, of the same types}}
%best = tile.cluster_reduce argmax %key, %position : tensor<4xf32>, tensor<4xindex> -> tensor<4xf32>

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%x = arith.constant dense<0.0> : tensor<2x8xf32>
%c = arith.constant dense<0.0> : tensor<2x1xf32>
// expected-error @+1 {{[C1] scans along dim 2, and its input has 2 dims}}
%y, %t = tile.scan sum %x from %c along 2 : tensor<2x8xf32> from tensor<2x1xf32> -> tensor<2x8xf32> total tensor<2x1xf32>

// -----

%x = arith.constant dense<0.0> : tensor<2x8xf32>
%c = arith.constant dense<0.0> : tensor<2x1xf32>
// expected-error @+1 {{[C1] has a result of the input's type}}
%y, %t = tile.scan sum %x from %c along 1 : tensor<2x8xf32> from tensor<2x1xf32> -> tensor<2x4xf32> total tensor<2x1xf32>

// -----

%x = arith.constant dense<0.0> : tensor<2x8xf32>
%c = arith.constant dense<0.0> : tensor<1x8xf32>
// expected-error @+1 {{[C1] has a carry and a total of extent 1 along dim 1, and like the input's otherwise}}
%y, %t = tile.scan sum %x from %c along 1 : tensor<2x8xf32> from tensor<1x8xf32> -> tensor<2x8xf32> total tensor<1x8xf32>

// -----

%x = arith.constant dense<0.0> : tensor<8xf32>
%c = arith.constant dense<0.0> : tensor<1xf32>
// expected-error @+1 {{[C2] scans elements that any takes, and no positions}}
%y, %t = tile.scan any %x from %c along 0 : tensor<8xf32> from tensor<1xf32> -> tensor<8xf32> total tensor<1xf32>

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%many = arith.constant dense<true> : tensor<2x1xi1>
// expected-error @+1 {{[C1] takes a tile of one 'i1', not 'tensor<2x1xi1>'}}
%e = tile.element %many : tensor<2x1xi1> -> i1

// -----

%one = arith.constant dense<true> : tensor<1x1xi1>
// expected-error @+1 {{[C1] takes a tile of one 'index', not 'tensor<1x1xi1>'}}
%e = tile.element %one : tensor<1x1xi1> -> index

// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%x = arith.constant dense<0.0> : tensor<4x8xf32>
%all = arith.constant dense<false> : tensor<1x1xi1>
%o = arith.constant 0 : index
// expected-error @below {{has a condition over one number per index, which ends in tile.holds}}
%y = tile.mask %x[%o, %o] unless %all where {
^bb0(%i: index):
  %on = arith.constant dense<true> : tensor<1x1xi1>
  tile.holds %on : tensor<1x1xi1>
} : tensor<4x8xf32>, tensor<1x1xi1>
// -----
%x = arith.constant dense<0.0> : tensor<4x8xf32>
%all = arith.constant dense<false> : tensor<4x1xi1>
%o = arith.constant 0 : index
// expected-error @below {{gives one i1, whether all points count, and not 'tensor<4x1xi1>'}}
%y = tile.mask %x[%o, %o] unless %all where {
^bb0(%i: index, %k: index):
  %on = arith.constant dense<true> : tensor<1x1xi1>
  tile.holds %on : tensor<1x1xi1>
} : tensor<4x8xf32>, tensor<4x1xi1>
// -----
%ring = tile.ring : <[64, 64] x f32, slots 2, contiguous 1>
%all = arith.constant dense<false> : tensor<1x1xi1>
%o = arith.constant 0 : index
// expected-error @below {{has 1 offsets and a box of 2 indices}}
tile.ring_mask %ring[%o] at %o unless %all where {
^bb0(%i: index, %k: index):
  %on = arith.constant dense<true> : tensor<1x1xi1>
  tile.holds %on : tensor<1x1xi1>
} : !tile.ring<[64, 64] x f32, slots 2, contiguous 1>, tensor<1x1xi1>

// RUN: kernelc-opt %s --canonicalize --allow-unregistered-dialect --split-input-file | FileCheck %s

// What is the same everywhere is a constant.

// CHECK-DAG: %[[PART:.*]] = arith.constant dense<1.000000e+00> : tensor<64x16xf32>
// CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<8x8xf32>
// CHECK-DAG: %[[IN:.*]] = arith.constant dense<true> : tensor<8x1xi1>
// CHECK-DAG: %[[F:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG: %[[WIDE:.*]] = arith.constant dense<3.000000e+00> : tensor<8x4xf32>
// CHECK: "use"(%[[PART]], %[[TWO]], %[[IN]], %[[F]], %[[WIDE]])
%at = "make"() : () -> index
%all = arith.constant dense<1.0> : tensor<64x32xf32>
%row = arith.constant dense<3.0> : tensor<1x4xf32>
%wide = tile.broadcast %row : tensor<1x4xf32> -> tensor<8x4xf32>
%part = tile.slice %all dim 1 from 16 : tensor<64x32xf32> -> tensor<64x16xf32>
%two = arith.constant 2.0 : f32
%splat = tile.splat %two : f32 -> tensor<8x8xf32>
%in = tile.inside [%at, %at] mask [] : tensor<8x1xi1>
%single = tile.splat %two : f32 -> tensor<1x1xf32>
%element = tile.element %single : tensor<1x1xf32> -> f32
"use"(%part, %splat, %in, %element, %wide) : (tensor<64x16xf32>, tensor<8x8xf32>, tensor<8x1xi1>, f32, tensor<8x4xf32>) -> ()

// -----

// What an op leaves as it is needs no op.

// CHECK: %[[MADE:.*]]:3 = "make"
// CHECK-NEXT: "use"(%[[MADE]]#0, %[[MADE]]#0, %[[MADE]]#0, %[[MADE]]#1, %[[MADE]]#2)
%x, %s, %i = "make"() : () -> (tensor<8x8xf32>, f32, index)
%same = tile.broadcast %x : tensor<8x8xf32> -> tensor<8x8xf32>
%whole = tile.slice %x dim 1 from 0 : tensor<8x8xf32> -> tensor<8x8xf32>
%layout = tile.convert_layout %x : tensor<8x8xf32> -> tensor<8x8xf32>
%splat = tile.splat %s : f32 -> tensor<1x1xf32>
%element = tile.element %splat : tensor<1x1xf32> -> f32
%number = tile.apply affine_map<(d0) -> (d0)>(%i)
"use"(%same, %whole, %layout, %element, %number) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, f32, index) -> ()

// -----

// Of others nothing is known, and an extent stays a form though it be a number: passes ask for it.

// CHECK: tile.broadcast
// CHECK: tile.slice
// CHECK: tile.inside
// CHECK: tile.splat
// CHECK: tile.apply
%x, %s, %at = "make"() : () -> (tensor<1x8xf32>, f32, index)
%all = tile.broadcast %x : tensor<1x8xf32> -> tensor<8x8xf32>
%part = tile.slice %x dim 1 from 4 : tensor<1x8xf32> -> tensor<1x4xf32>
%in = tile.inside [%at, %at] mask [0] : tensor<8x1xi1>
%splat = tile.splat %s : f32 -> tensor<8x8xf32>
%extent = tile.apply affine_map<() -> (48)>()
"use"(%all, %part, %in, %splat, %extent) : (tensor<8x8xf32>, tensor<1x4xf32>, tensor<8x1xi1>, tensor<8x8xf32>, index) -> ()

// -----

// Nor of what no function's verifier has seen: another type of elements, extents that are not known.

// CHECK: tile.inside
// CHECK: tile.splat
// CHECK: tile.splat
%two = arith.constant 2.0 : f32
%in = tile.inside [] mask [] : tensor<8x1xi8>
%other = tile.splat %two : f32 -> tensor<8x8xi32>
%open = tile.splat %two : f32 -> tensor<?x8xf32>
"use"(%in, %other, %open) : (tensor<8x1xi8>, tensor<8x8xi32>, tensor<?x8xf32>) -> ()

// -----

// No point is masked where all points count.

// CHECK: %[[MADE:.*]]:4 = "make"
// CHECK: %[[M:.*]] = tile.mask %[[MADE]]#0{{.*}} unless %[[MADE]]#1
// CHECK: tile.ring_mask {{.*}} unless %[[MADE]]#1
// CHECK-NOT: tile.ring_mask
// CHECK: "use"(%[[MADE]]#0, %[[M]])
%x, %some, %at, %ring = "make"() : () -> (tensor<8x8xf32>, tensor<1x1xi1>, index, !tile.ring<[8, 8] x f32, slots 2, contiguous 1>)
%all = arith.constant dense<true> : tensor<1x1xi1>
%whole = tile.mask %x[%at, %at] unless %all where {
^bb0(%i: index, %j: index):
  %holds = arith.constant dense<false> : tensor<1x1xi1>
  tile.holds %holds : tensor<1x1xi1>
} : tensor<8x8xf32>, tensor<1x1xi1>
%part = tile.mask %x[%at, %at] unless %some where {
^bb0(%i: index, %j: index):
  %holds = arith.constant dense<false> : tensor<1x1xi1>
  tile.holds %holds : tensor<1x1xi1>
} : tensor<8x8xf32>, tensor<1x1xi1>
tile.ring_mask %ring[%at, %at] at %at unless %some where {
^bb0(%i: index, %j: index):
  %holds = arith.constant dense<false> : tensor<1x1xi1>
  tile.holds %holds : tensor<1x1xi1>
} : !tile.ring<[8, 8] x f32, slots 2, contiguous 1>, tensor<1x1xi1>
tile.ring_mask %ring[%at, %at] at %at unless %all where {
^bb0(%i: index, %j: index):
  %holds = arith.constant dense<false> : tensor<1x1xi1>
  tile.holds %holds : tensor<1x1xi1>
} : !tile.ring<[8, 8] x f32, slots 2, contiguous 1>, tensor<1x1xi1>
"use"(%whole, %part) : (tensor<8x8xf32>, tensor<8x8xf32>) -> ()

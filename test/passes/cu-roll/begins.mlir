// RUN: kernelc-opt --cu-roll --canonicalize --cse -split-input-file %s | FileCheck %s

// The first of four parts stores what the others add up: all four are one loop, ahead of which stands what adds up to any x as x.
cu.kernel @sums attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %f = arith.constant 2.0 : f32
  %sum = memref.alloca() : memref<4xf32, 5>
  %a0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %a0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b0 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b0[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %a1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b1 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b1[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a2 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c8] to %a2[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b2 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b2[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a3 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c12] to %a3[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b3 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b3[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %sum[%c0] to %y[%c0] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @sums
// CHECK: %[[NONE:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: %[[SUM:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK: scf.for %[[REG:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: memref.store %[[NONE]], %[[SUM]][%[[REG]]]
// CHECK: scf.for %[[PART:.*]] = %c0 to %c4 step %c1 {
// CHECK: cu.copy
// CHECK: memref.load %[[SUM]]
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[SUM]]
// CHECK-NOT: arith.addf
// CHECK: cu.copy %[[SUM]]

// -----

// What was there before the first part is overwritten, and no identity may take its place unseen: the first part stays by itself.
cu.kernel @read_before attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %f = arith.constant 2.0 : f32
  %sum = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %sum[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  cu.copy %sum[%c0] to %y[%c8] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
  %a0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %a0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b0 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b0[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %a1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b1 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b1[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a2 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c8] to %a2[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b2 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b2[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a3 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c12] to %a3[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b3 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b3[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %sum[%c0] to %y[%c0] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @read_before
// CHECK-NOT: -0.0
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK: memref.store %{{.*}}, %[[SUM:.*]][%{{.*}}] : memref<4xf32, 5>
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 {
// CHECK: arith.addf

// -----

// Each round of the first part overwrites the one element: adding up would keep what earlier rounds have stored.
cu.kernel @last_of_rounds attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %f = arith.constant 2.0 : f32
  %sum = memref.alloca() : memref<4xf32, 5>
  %a0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %a0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b0 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b0[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %sum[%c0] : memref<4xf32, 5>
  } {cu.unroll}
  %a1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %a1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b1 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b1[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%c0] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%c0] : memref<4xf32, 5>
  } {cu.unroll}
  %a2 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c8] to %a2[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b2 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b2[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%c0] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%c0] : memref<4xf32, 5>
  } {cu.unroll}
  %a3 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c12] to %a3[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b3 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b3[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%c0] : memref<4xf32, 5>
    %t = arith.addf %s, %w : f32
    memref.store %t, %sum[%c0] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %sum[%c0] to %y[%c0] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @last_of_rounds
// CHECK-NOT: -0.0
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 {
// CHECK: arith.addf

// -----

// No number subtracted from makes a difference of nothing: the first part stays by itself.
cu.kernel @differences attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %f = arith.constant 2.0 : f32
  %sum = memref.alloca() : memref<4xf32, 5>
  %a0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %a0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b0 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b0[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b0[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %a1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b1 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b1[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b1[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.subf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a2 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c8] to %a2[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b2 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b2[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b2[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.subf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %a3 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c12] to %a3[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %b3 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %b3[%i] : memref<4xf32, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %b3[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %v : f32
    %s = memref.load %sum[%i] : memref<4xf32, 5>
    %t = arith.subf %s, %w : f32
    memref.store %t, %sum[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %sum[%c0] to %y[%c0] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @differences
// CHECK-NOT: -0.0
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 {
// CHECK: arith.subf

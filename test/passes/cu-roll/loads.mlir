// RUN: kernelc-opt --cu-roll --canonicalize --cse %s | FileCheck %s

// The first part reads the factor of a row before the results, the others behind them: all four are one loop.
cu.kernel @another_order attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %acc = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %acc[%c0] count 4 : memref<?xf32, 1> to memref<8xf32, 5>
  cu.copy %x[%c8] to %acc[%c4] count 4 : memref<?xf32, 1> to memref<8xf32, 5>
  %factor = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %factor[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %a = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %f = memref.load %factor[%i] : memref<4xf32, 5>
    %v = memref.load %acc[%i] : memref<8xf32, 5>
    %w = arith.mulf %v, %f : f32
    %z = arith.addf %w, %v : f32
    memref.store %z, %a[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %a[%c0] to %y[%c0] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %a[%c1] to %y[%c1] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %a[%c2] to %y[%c2] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %a[%c3] to %y[%c3] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  %b = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %i1 = arith.addi %i, %c4 : index
    %v = memref.load %acc[%i1] : memref<8xf32, 5>
    %f = memref.load %factor[%i] : memref<4xf32, 5>
    %w = arith.mulf %v, %f : f32
    %z = arith.addf %w, %v : f32
    memref.store %z, %b[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %b[%c0] to %y[%c4] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %b[%c1] to %y[%c5] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %b[%c2] to %y[%c6] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %b[%c3] to %y[%c7] count 1 : memref<4xf32, 5> to memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @another_order
// CHECK: scf.for %[[PART:.*]] = %c0 to %c2 step %c1 {
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.load
// CHECK: arith.mulf
// CHECK-NOT: arith.mulf

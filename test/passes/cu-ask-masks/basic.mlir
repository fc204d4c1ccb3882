// RUN: kernelc-opt --cu-ask-masks -split-input-file %s | FileCheck %s

// Of an array of two starts the larger one is asked; of what they are compared with the smallest. The loop that fills an array of
// comparisons goes where they are read.
// CHECK-LABEL: cu.kernel @two_rows
// CHECK: cu.mma
// CHECK-DAG: %[[X:.*]] = memref.load %[[STARTS:.*]][%c0{{.*}}] : memref<2xindex, 5>
// CHECK-DAG: %[[Y:.*]] = memref.load %[[STARTS]][%c1{{.*}}] : memref<2xindex, 5>
// CHECK: %[[MOST:.*]] = arith.maxsi %[[X]], %[[Y]] : index
// CHECK: %[[ALL:.*]] = arith.cmpi sle, %[[MOST]], %{{.*}} : index
// CHECK: scf.if %[[ALL]] {
// CHECK-NOT: arith.select
// CHECK: } else {
// CHECK: memref.alloca() : memref<16xi1, 5>
// CHECK: arith.cmpi
// CHECK: arith.select
cu.kernel @two_rows attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xindex, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant 0xFF800000 : f32
  %a = memref.alloca() : memref<8xi32, 5>
  %s = memref.alloca() : memref<16xf32, 5>
  %masked = memref.alloca() : memref<16xf32, 5>
  %starts = memref.alloca() : memref<2xindex, 5>
  cu.copy %x[%c0] to %starts[%c0] count 2 : memref<?xindex, 1> to memref<2xindex, 5>
  scf.for %j0 = %c0 to %c8 step %c1 {
    cu.mma "m16n8k16_bf16" %s[%c0], %a[%c0], %a[%c2] : memref<16xf32, 5>, memref<8xi32, 5>, memref<8xi32, 5>
    %state = memref.alloca() : memref<16xi1, 5>
    scf.for %r = %c0 to %c2 step %c1 {
      scf.for %i = %c0 to %c8 step %c1 {
        %j = arith.addi %j0, %i : index
        %start = memref.load %starts[%r] : memref<2xindex, 5>
        %in = arith.cmpi sge, %j, %start : index
        %row = arith.muli %r, %c8 : index
        %at = arith.addi %row, %i : index
        memref.store %in, %state[%at] : memref<16xi1, 5>
      } {cu.unroll}
    } {cu.unroll}
    scf.for %i = %c0 to %c16 step %c1 {
      %j = arith.addi %j0, %i : index
      %in = memref.load %state[%i] : memref<16xi1, 5>
      %v = memref.load %s[%i] : memref<16xf32, 5>
      %chosen = arith.select %in, %v, %none : f32
      memref.store %chosen, %masked[%i] : memref<16xf32, 5>
    } {cu.unroll}
    cu.copy %masked[%c0] to %y[%c0] count 16 : memref<16xf32, 5> to memref<?xf32, 1>
  }
}

// -----

// Masks of indices alone, where products have rounds of their own; in place, so that nothing is left to do where all points count.
// CHECK-LABEL: cu.kernel @end
// CHECK: scf.for
// CHECK: cu.mma
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c15{{.*}} : index
// CHECK: %[[ALL:.*]] = arith.cmpi slt, %[[LAST]], %c16 : index
// CHECK: %[[SOME:.*]] = arith.xori %[[ALL]], %true
// CHECK: scf.if %[[SOME]] {
// CHECK-NEXT: scf.for
// CHECK: arith.select
// CHECK-NOT: else
cu.kernel @end attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xindex, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant 0xFF800000 : f32
  %a = memref.alloca() : memref<8xi32, 5>
  %s = memref.alloca() : memref<16xf32, 5>
  %masked = memref.alloca() : memref<16xf32, 5>
  scf.for %j0 = %c0 to %c8 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      cu.mma "m16n8k16_bf16" %s[%c0], %a[%c0], %a[%c2] : memref<16xf32, 5>, memref<8xi32, 5>, memref<8xi32, 5>
    }
    scf.for %i = %c0 to %c16 step %c1 {
      %j = arith.addi %j0, %i : index
      %in = arith.cmpi slt, %j, %c16 : index
      %v = memref.load %s[%i] : memref<16xf32, 5>
      %chosen = arith.select %in, %v, %none : f32
      memref.store %chosen, %s[%i] : memref<16xf32, 5>
    } {cu.unroll}
    cu.copy %s[%c0] to %y[%c0] count 16 : memref<16xf32, 5> to memref<?xf32, 1>
  }
}

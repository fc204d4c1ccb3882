// RUN: kernelc-opt --cu-flatten --cse -split-input-file %s | FileCheck %s

// Three digits of a register's number, slowest first; the array of another part beside it.
// CHECK-LABEL: cu.kernel @digits
// CHECK: %[[R:.*]] = memref.alloca() : memref<64xf32, 5>
// CHECK: scf.for %[[REG:.*]] = %c0 to %c64 step %c1 {
// CHECK-NEXT: memref.store %{{.*}}, %[[R]][%[[REG]]]
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[REG]], %c64
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
// CHECK-NEXT: } {cu.unroll}
// CHECK-NEXT: }
cu.kernel @digits attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  %c64 = arith.constant 64 : index
  %r = memref.alloca() : memref<64xf32, 5>
  scf.for %i = %c0 to %c8 step %c1 {
    %from = arith.muli %i, %c8 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %half = arith.muli %j, %c2 : index
      scf.for %k = %c0 to %c2 step %c1 {
        %first = arith.addi %k, %half : index
        %reg = arith.addi %first, %from : index
        memref.store %v, %r[%reg] : memref<64xf32, 5>
        %at = arith.addi %reg, %c64 : index
        memref.store %v, %x[%at] : memref<?xf32, 1>
      } {cu.unroll}
    } {cu.unroll}
  } {cu.unroll}
}

// -----

// Index arithmetic that the loops do not change stays; the slower loop, whose variable has another use, too.
// CHECK-LABEL: cu.kernel @beside
// CHECK: scf.for %[[I:.*]] = %c0 to %c8 step %c1 {
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c8
// CHECK: scf.for %[[REG:.*]] = %c0 to %c8 step %c1 {
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[REG]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
cu.kernel @beside attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %row = arith.muli %i, %c8 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %half = arith.muli %j, %c2 : index
      scf.for %k = %c0 to %c2 step %c1 {
        %reg = arith.addi %half, %k : index
        %at = arith.addi %row, %reg : index
        memref.store %v, %x[%at] : memref<?xf32, 1>
        memref.store %v, %x[%i] : memref<?xf32, 1>
      }
    }
  }
}

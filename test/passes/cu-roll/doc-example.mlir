// Three times the same but for the place, and a barrier in between.
// RUN: kernelc-opt --cu-roll --canonicalize --cse %s | FileCheck %s
cu.kernel @places attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (192)>}, {source = 1 : i64, shape = affine_map<() -> (192)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 128 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %slot = cu.shared 0 : memref<32xf32, 3>
  %i = cu.thread_id
  %a = memref.load %x[%i] : memref<?xf32, 1>
  memref.store %a, %slot[%i] : memref<32xf32, 3>
  cu.sync
  %b = memref.load %slot[%c0] : memref<32xf32, 3>
  memref.store %b, %y[%i] : memref<?xf32, 1>
  cu.sync
  %i1 = arith.addi %i, %c64 : index
  %a1 = memref.load %x[%i1] : memref<?xf32, 1>
  memref.store %a1, %slot[%i] : memref<32xf32, 3>
  cu.sync
  %b1 = memref.load %slot[%c0] : memref<32xf32, 3>
  memref.store %b1, %y[%i1] : memref<?xf32, 1>
  cu.sync
  %i2 = arith.addi %i, %c128 : index
  %a2 = memref.load %x[%i2] : memref<?xf32, 1>
  memref.store %a2, %slot[%i] : memref<32xf32, 3>
  cu.sync
  %b2 = memref.load %slot[%c0] : memref<32xf32, 3>
  memref.store %b2, %y[%i2] : memref<?xf32, 1>
  cu.sync
}
// CHECK: scf.for %[[PART:.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[PART]], %c64
// CHECK-NEXT: %[[AT:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
// CHECK-NEXT: %[[A:.*]] = memref.load %{{.*}}[%[[AT]]]
// CHECK-NEXT: memref.store %[[A]]
// CHECK-NEXT: cu.sync
// CHECK-NEXT: %[[B:.*]] = memref.load
// CHECK-NEXT: memref.store %[[B]], %{{.*}}[%[[AT]]]
// CHECK-NEXT: cu.sync
// CHECK-NEXT: } {cu.unroll}
// CHECK-NEXT: }

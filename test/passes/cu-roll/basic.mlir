// RUN: kernelc-opt --cu-roll --canonicalize --cse -split-input-file %s | FileCheck %s

// Four parts of an epilogue: each has a scale of its own, which was loaded ahead, registers of its own, and one of two
// slots in turns. The scales become one array, the registers the loop's.
cu.kernel @epilogue attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c64 = arith.constant 64 : index
  %t = cu.thread_id
  %slots = cu.shared 0 : memref<128xf32, 3>
  %acc = memref.alloca() : memref<16xf32, 5>
  %s0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%t] to %s0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %s1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %s1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %s2 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c8] to %s2[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %s3 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c12] to %s3[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %r0 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %acc[%i] : memref<16xf32, 5>
    %s = memref.load %s0[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %s : f32
    memref.store %v, %r0[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %r0[%c0] to %slots[%t] count 4 : memref<4xf32, 5> to memref<128xf32, 3>
  %r1 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %i1 = arith.addi %i, %c4 : index
    %a = memref.load %acc[%i1] : memref<16xf32, 5>
    %s = memref.load %s1[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %s : f32
    memref.store %v, %r1[%i] : memref<4xf32, 5>
  } {cu.unroll}
  %t64 = arith.addi %t, %c64 : index
  cu.copy %r1[%c0] to %slots[%t64] count 4 : memref<4xf32, 5> to memref<128xf32, 3>
  %r2 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %i1 = arith.addi %i, %c8 : index
    %a = memref.load %acc[%i1] : memref<16xf32, 5>
    %s = memref.load %s2[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %s : f32
    memref.store %v, %r2[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %r2[%c0] to %slots[%t] count 4 : memref<4xf32, 5> to memref<128xf32, 3>
  %r3 = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %i1 = arith.addi %i, %c12 : index
    %a = memref.load %acc[%i1] : memref<16xf32, 5>
    %s = memref.load %s3[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %s : f32
    memref.store %v, %r3[%i] : memref<4xf32, 5>
  } {cu.unroll}
  cu.copy %r3[%c0] to %slots[%t64] count 4 : memref<4xf32, 5> to memref<128xf32, 3>
}
// CHECK-LABEL: cu.kernel @epilogue
// CHECK: %[[ACC:.*]] = memref.alloca() : memref<16xf32, 5>
// CHECK: %[[SCALES:.*]] = memref.alloca() : memref<16xf32, 5>
// CHECK: cu.copy %{{.*}}[%{{.*}}] to %[[SCALES]][%c0]
// CHECK: cu.copy %{{.*}}[%c4] to %[[SCALES]][%c4]
// CHECK: cu.copy %{{.*}}[%c8] to %[[SCALES]][%c8]
// CHECK: cu.copy %{{.*}}[%c12] to %[[SCALES]][%c12]
// CHECK: scf.for %[[PART:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: %[[OWN:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK-NEXT: scf.for %[[I:.*]] = %c0
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[PART]], %c4
// CHECK-NEXT: %[[REG:.*]] = arith.addi %[[I]], %[[FIRST]]
// CHECK-NEXT: memref.load %[[ACC]][%[[REG]]]
// CHECK-NEXT: memref.load %[[SCALES]][%[[REG]]]
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: memref.store %{{.*}}, %[[OWN]][%[[I]]]
// CHECK-NEXT: } {cu.unroll}
// CHECK-NEXT: %[[TURN:.*]] = arith.remsi %[[PART]], %c2
// CHECK-NEXT: %[[SLOT:.*]] = arith.muli %[[TURN]], %c64
// CHECK-NEXT: %[[AT:.*]] = arith.addi %{{.*}}, %[[SLOT]]
// CHECK-NEXT: cu.copy %[[OWN]][%c0] to %{{.*}}[%[[AT]]] count 4
// CHECK-NEXT: } {cu.unroll}
// CHECK-NOT: cu.copy

// -----

// The first part waits for fewer copies: the loop begins behind it.
cu.kernel @first_differs attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %v = arith.constant 1.0 : f32
  %t = cu.thread_id
  %leads = arith.cmpi eq, %t, %c0 : index
  scf.if %leads {
    cu.cp_async_wait 0
    cu.warp_sync
    memref.store %v, %x[%c0] : memref<?xf32, 1>
    cu.cp_async_commit
  }
  scf.if %leads {
    cu.cp_async_wait 1
    cu.warp_sync
    memref.store %v, %x[%c4] : memref<?xf32, 1>
    cu.cp_async_commit
  }
  scf.if %leads {
    cu.cp_async_wait 1
    cu.warp_sync
    memref.store %v, %x[%c8] : memref<?xf32, 1>
    cu.cp_async_commit
  }
  scf.if %leads {
    cu.cp_async_wait 1
    cu.warp_sync
    memref.store %v, %x[%c12] : memref<?xf32, 1>
    cu.cp_async_commit
  }
}
// CHECK-LABEL: cu.kernel @first_differs
// CHECK: cu.cp_async_wait 0
// CHECK: scf.for %[[PART:.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT: scf.if
// CHECK-NEXT: cu.cp_async_wait 1
// CHECK: %[[STEP:.*]] = arith.muli %[[PART]], %c4
// CHECK: %[[AT:.*]] = arith.addi %[[STEP]], %c4
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[AT]]]

// -----

// Each part has shared memory of its own: one array for all.
cu.kernel @shared attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (192)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %i = cu.thread_id
  %s0 = cu.shared 0 : memref<32xf32, 3>
  %s1 = cu.shared 160 : memref<32xf32, 3>
  %s2 = cu.shared 320 : memref<32xf32, 3>
  %a = memref.load %x[%i] : memref<?xf32, 1>
  memref.store %a, %s0[%i] : memref<32xf32, 3>
  cu.sync
  %b = memref.load %s0[%c0] : memref<32xf32, 3>
  memref.store %b, %x[%i] : memref<?xf32, 1>
  cu.sync
  %i1 = arith.addi %i, %c32 : index
  %a1 = memref.load %x[%i1] : memref<?xf32, 1>
  memref.store %a1, %s1[%i] : memref<32xf32, 3>
  cu.sync
  %b1 = memref.load %s1[%c0] : memref<32xf32, 3>
  memref.store %b1, %x[%i1] : memref<?xf32, 1>
  cu.sync
  %i2 = arith.addi %i, %c64 : index
  %a2 = memref.load %x[%i2] : memref<?xf32, 1>
  memref.store %a2, %s2[%i] : memref<32xf32, 3>
  cu.sync
  %b2 = memref.load %s2[%c0] : memref<32xf32, 3>
  memref.store %b2, %x[%i2] : memref<?xf32, 1>
  cu.sync
}
// CHECK-LABEL: cu.kernel @shared
// CHECK: %[[ALL:.*]] = cu.shared 0 : memref<112xf32, 3>
// CHECK-NOT: cu.shared
// CHECK: scf.for %[[PART:.*]] = %c0 to %c3 step %c1 {
// CHECK: %[[A:.*]] = memref.load
// CHECK: %[[OWN:.*]] = arith.muli %[[PART]], %c40
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[OWN]]
// CHECK: memref.store %[[A]], %[[ALL]][%[[AT]]]
// CHECK: cu.sync
// CHECK: memref.load %[[ALL]][%[[OWN]]]

// -----

// The steps of a binary search: each goes on from what the one before has found, in the same registers, half as far.
cu.kernel @search attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %t = cu.thread_id
  %pivot = arith.constant 1.0 : f32
  %n0 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    memref.store %c64, %n0[%i] : memref<2xindex, 5>
  } {cu.unroll}
  %r0 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n0[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r0[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s0 = arith.constant 32 : index
  %n1 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n0[%i] : memref<2xindex, 5>
    %v = memref.load %r0[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s0 : index
    memref.store %next, %n1[%i] : memref<2xindex, 5>
  } {cu.unroll}
  %r1 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n1[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r1[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s1 = arith.constant 16 : index
  %n2 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n1[%i] : memref<2xindex, 5>
    %v = memref.load %r1[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s1 : index
    memref.store %next, %n2[%i] : memref<2xindex, 5>
  } {cu.unroll}
  %r2 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n2[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r2[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s2 = arith.constant 8 : index
  %n3 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n2[%i] : memref<2xindex, 5>
    %v = memref.load %r2[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s2 : index
    memref.store %next, %n3[%i] : memref<2xindex, 5>
  } {cu.unroll}
  %r3 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n3[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r3[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s3 = arith.constant 4 : index
  %n4 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n3[%i] : memref<2xindex, 5>
    %v = memref.load %r3[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s3 : index
    memref.store %next, %n4[%i] : memref<2xindex, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n4[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %y[%i] : memref<?xf32, 1>
  } {cu.unroll}
}
// CHECK-LABEL: cu.kernel @search
// CHECK: %[[NEXT:.*]] = memref.alloca() : memref<2xindex, 5>
// CHECK: memref.store %c64, %[[NEXT]]
// CHECK: scf.for %[[PART:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: %[[OWN:.*]] = memref.alloca() : memref<2xf32, 5>
// CHECK: memref.load %[[NEXT]]
// CHECK: memref.store %{{.*}}, %[[OWN]]
// CHECK: memref.load %[[NEXT]]
// CHECK: %[[STEP:.*]] = arith.shrsi %c32, %[[PART]]
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[STEP]]
// CHECK: memref.store %[[SUM]], %[[NEXT]]
// CHECK: } {cu.unroll}
// CHECK: memref.load %[[NEXT]]
// CHECK-NOT: arith.shrsi

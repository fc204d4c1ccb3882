// RUN: kernelc-opt --cu-join-guards -split-input-file %s | FileCheck %s

// Arithmetic, loops and arrays between the branches go along, with the comments on them.
// CHECK-LABEL: cu.kernel @between
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: cu.comment "Load x."
// CHECK-NEXT: memref.alloca
// CHECK-NEXT: cu.copy
// CHECK-NEXT: memref.alloca
// CHECK-NEXT: scf.for
// CHECK: math.exp
// CHECK: cu.comment "Store y."
// CHECK-NEXT: cu.copy
// CHECK-COUNT-30: memref.store
// CHECK-NEXT: }
// CHECK-NOT: scf.if
cu.kernel @between attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  cu.comment "Load x."
  %r = memref.alloca() : memref<4xf32, 5>
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  %s = memref.alloca() : memref<4xf32, 5>
  scf.for %e = %c0 to %c4 step %c1 {
    %v = memref.load %r[%e] : memref<4xf32, 5>
    %w = math.exp %v : f32
    memref.store %w, %s[%e] : memref<4xf32, 5>
  }
  cu.comment "Store y."
  scf.if %inside { cu.copy %s[%c0] to %y[%i] count 4 : memref<4xf32, 5> to memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

// Up to a barrier; behind it there are few.
// CHECK-LABEL: cu.kernel @barrier
// CHECK: scf.if %[[C:.*]] {
// CHECK-COUNT-32: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: cu.sync
// CHECK-COUNT-2: scf.if %[[C]] {
cu.kernel @barrier attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  cu.sync
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}

// -----

// What is used behind the last branch that can join does not go along.
// CHECK-LABEL: cu.kernel @behind
// CHECK: scf.if %[[C:.*]] {
// CHECK-COUNT-32: memref.store
// CHECK-NEXT: }
// CHECK: scf.if %[[C]] {
// CHECK-NEXT: cu.copy
// CHECK-NEXT: } else {
cu.kernel @behind attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %r = memref.alloca() : memref<4xf32, 5>
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  %v = memref.load %r[%c0] : memref<4xf32, 5>
  memref.store %v, %y[%c0] : memref<?xf32, 1>
}

// -----

// In a loop, whose rounds have arrays of their own, and in a loop in it.
// CHECK-LABEL: cu.kernel @rounds
// CHECK: scf.for
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: memref.alloca
// CHECK-NEXT: cu.copy
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: memref.store
cu.kernel @rounds attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  scf.for %round = %c0 to %c4 step %c1 {
  %r = memref.alloca() : memref<4xf32, 5>
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
    scf.for %e = %c0 to %c4 step %c1 {
      scf.if %inside {
        %v = memref.load %r[%e] : memref<4xf32, 5>
        memref.store %v, %x[%e] : memref<?xf32, 1>
      }
    }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  }
}

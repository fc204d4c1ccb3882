// RUN: kernelc-opt --cu-forward-copies --canonicalize --cse -split-input-file %s | FileCheck %s

// One value in all elements, of the round around it.
// CHECK-LABEL: cu.kernel @value
// CHECK-NOT: memref.alloca
// CHECK: scf.for %[[I:.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: %[[E:.*]] = memref.load %{{.*}}[%[[I]]]
// CHECK-NEXT: memref.store %[[E]], %{{.*}}[%c16]
// CHECK-NEXT: }
cu.kernel @value attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %e = memref.load %x[%i] : memref<?xf32, 1>
    %a = memref.alloca() : memref<16xf32, 5>
    scf.for %j = %c0 to %c4 step %c1 {
      %first = arith.muli %j, %c4 : index
      scf.for %k = %c0 to %c4 step %c1 {
        %reg = arith.addi %first, %k : index
        memref.store %e, %a[%reg] : memref<16xf32, 5>
      }
    }
    %read = memref.load %a[%c8] : memref<16xf32, 5>
    memref.store %read, %x[%c16] : memref<?xf32, 1>
  }
}

// -----

// A row spread over columns: of the digits of its subscript only the row's is read. Where one is read, the number has both.
// CHECK-LABEL: cu.kernel @digits
// CHECK: %[[ROWS:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: scf.for %[[J:.*]] = %c0 to %c4 step %c1 {
// CHECK: scf.for %[[K:.*]] = %c0 to %c8 step %c1 {
// CHECK: memref.load %[[ROWS]][%[[J]]]
// CHECK: memref.load %[[ROWS]][%c3]
cu.kernel @digits attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %c25 = arith.constant 25 : index
  %rows = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %e = memref.load %x[%i] : memref<?xf32, 1>
    memref.store %e, %rows[%i] : memref<4xf32, 5>
  }
  %a = memref.alloca() : memref<32xf32, 5>
  scf.for %k = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %first = arith.muli %j, %c8 : index
      %at = arith.addi %first, %k : index
      %e = memref.load %rows[%j] : memref<4xf32, 5>
      memref.store %e, %a[%at] : memref<32xf32, 5>
    }
  }
  scf.for %j = %c0 to %c4 step %c1 {
    %first = arith.muli %j, %c8 : index
    scf.for %k = %c0 to %c8 step %c1 {
      %at = arith.addi %k, %first : index
      %e = memref.load %a[%at] : memref<32xf32, 5>
      memref.store %e, %x[%at] : memref<?xf32, 1>
    }
  }
  %e = memref.load %a[%c25] : memref<32xf32, 5>
  memref.store %e, %x[%c0] : memref<?xf32, 1>
}

// -----

// A sum that an inner loop takes over and gives back stays where it is.
// CHECK-LABEL: cu.kernel @carried
// CHECK: %[[SUM:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: memref.store %{{.*}}, %[[SUM]]
// CHECK: scf.for
// CHECK-NEXT: scf.for %[[J:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: %[[OLD:.*]] = memref.load %[[SUM]][%[[J]]]
// CHECK: memref.store %{{.*}}, %[[SUM]][%[[J]]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: memref.load %[[SUM]][%c2]
cu.kernel @carried attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %sum = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %v, %sum[%i] : memref<4xf32, 5>
  }
  scf.for %round = %c0 to %c8 step %c1 {
    %own = memref.alloca() : memref<4xf32, 5>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %sum[%i] : memref<4xf32, 5>
      memref.store %e, %own[%i] : memref<4xf32, 5>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %old = memref.load %own[%i] : memref<4xf32, 5>
      %new = arith.addf %old, %v : f32
      memref.store %new, %own[%i] : memref<4xf32, 5>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %own[%i] : memref<4xf32, 5>
      memref.store %e, %sum[%i] : memref<4xf32, 5>
    }
  }
  %e = memref.load %sum[%c2] : memref<4xf32, 5>
  memref.store %e, %x[%c0] : memref<?xf32, 1>
}

// -----

// A copy of a copy; a vector of the source, from an even element on.
// CHECK-LABEL: cu.kernel @twice
// CHECK: %[[R:.*]] = memref.alloca() : memref<8xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: cu.copy %[[R]][%c4] to %{{.*}}[%c8] count 2
cu.kernel @twice attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<8xf32, 5>
  cu.copy %x[%c4] to %r[%c4] count 4 : memref<?xf32, 1> to memref<8xf32, 5>
  %a = memref.alloca() : memref<8xf32, 5>
  scf.for %i = %c0 to %c8 step %c1 {
    %e = memref.load %r[%i] : memref<8xf32, 5>
    memref.store %e, %a[%i] : memref<8xf32, 5>
  }
  %b = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %from = arith.addi %i, %c2 : index
    %e = memref.load %a[%from] : memref<8xf32, 5>
    memref.store %e, %b[%i] : memref<4xf32, 5>
  }
  cu.copy %b[%c2] to %x[%c8] count 2 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

// A walk that goes on with what the one before has left: both keep it in one array.
// CHECK-LABEL: cu.kernel @goes_on
// CHECK: %[[ACC:.*]] = memref.alloca() : memref<16xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[ACC]]
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = memref.load %[[ACC]]
// CHECK: memref.store %{{.*}}, %[[ACC]]
// CHECK: cu.copy %[[ACC]]
cu.kernel @goes_on attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %acc = memref.alloca() : memref<16xf32, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %e = memref.load %x[%i] : memref<?xf32, 1>
    memref.store %e, %acc[%i] : memref<16xf32, 5>
  }
  %next = memref.alloca() : memref<16xf32, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %e = memref.load %acc[%i] : memref<16xf32, 5>
    memref.store %e, %next[%i] : memref<16xf32, 5>
  }
  scf.for %j = %c0 to %c16 step %c4 {
    %old = memref.load %next[%j] : memref<16xf32, 5>
    %new = arith.addf %old, %old : f32
    memref.store %new, %next[%j] : memref<16xf32, 5>
  }
  cu.copy %next[%c0] to %x[%c0] count 4 : memref<16xf32, 5> to memref<?xf32, 1>
}

// -----

// What a round has loaded is what the walk carries: it is loaded there.
// CHECK-LABEL: cu.kernel @carried
// CHECK: %[[ACC:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: cu.copy %{{.*}} to %[[ACC]]
// CHECK-NOT: memref.store
// CHECK: cu.copy %[[ACC]]
cu.kernel @carried attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %acc = memref.alloca() : memref<4xf32, 5>
  scf.for %t = %c0 to %c16 step %c4 {
    %row = memref.alloca() : memref<4xf32, 5>
    cu.copy %x[%t] to %row[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %row[%i] : memref<4xf32, 5>
      memref.store %e, %acc[%i] : memref<4xf32, 5>
    }
  }
  cu.copy %acc[%c0] to %x[%c0] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

// The old value is read after the next one is loaded, and of a source that one condition chooses ptxas would hold both sides.
// CHECK-LABEL: cu.kernel @two_values
// CHECK-COUNT-3: memref.alloca() : memref<4xf32, 5>
// CHECK: cu.comment "A copy of what was chosen as a whole: ptxas would keep both sides of the choice else."
// CHECK-NEXT: memref.alloca() : memref<4xf32, 5>
cu.kernel @two_values attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %acc = memref.alloca() : memref<4xf32, 5>
  scf.for %t = %c0 to %c16 step %c4 {
    %row = memref.alloca() : memref<4xf32, 5>
    cu.copy %x[%t] to %row[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
    cu.copy %acc[%c0] to %x[%t] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %row[%i] : memref<4xf32, 5>
      memref.store %e, %acc[%i] : memref<4xf32, 5>
    }
  }
  %f = memref.load %x[%c1] : memref<?xf32, 1>
  %c = arith.cmpf une, %f, %f : f32
  %chosen = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %e = memref.load %acc[%i] : memref<4xf32, 5>
    %s = arith.select %c, %zero, %e : f32
    memref.store %s, %chosen[%i] : memref<4xf32, 5>
  }
  %next = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %e = memref.load %chosen[%i] : memref<4xf32, 5>
    memref.store %e, %next[%i] : memref<4xf32, 5>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %e = memref.load %next[%i] : memref<4xf32, 5>
    %d = arith.addf %e, %e : f32
    memref.store %d, %next[%i] : memref<4xf32, 5>
  }
  cu.copy %next[%c0] to %x[%c0] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

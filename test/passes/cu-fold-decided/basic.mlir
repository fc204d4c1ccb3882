// RUN: kernelc-opt --cu-fold-decided -split-input-file %s | FileCheck %s

// A branch that always runs: its statements stand in its place, and its result is theirs.
cu.kernel @always attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %true = arith.constant true
  %v = scf.if %true -> (f32) {
    memref.store %one, %x[%c1] : memref<?xf32, 1>
    %a = memref.load %x[%c4] : memref<?xf32, 1>
    scf.yield %a : f32
  } else {
    scf.yield %one : f32
  }
  memref.store %v, %x[%c0] : memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @always
// CHECK-NOT: scf.if
// CHECK: memref.store %{{.*}}, %{{.*}}[%c1]
// CHECK-NEXT: %[[A:.*]] = memref.load %{{.*}}[%c4]
// CHECK-NEXT: memref.store %[[A]], %{{.*}}[%c0]

// -----

// One that never runs, with other statements for that case.
cu.kernel @otherwise attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  scf.if %false {
    memref.store %one, %x[%c1] : memref<?xf32, 1>
  } else {
    memref.store %one, %x[%c4] : memref<?xf32, 1>
  }
}
// CHECK-LABEL: cu.kernel @otherwise
// CHECK-NOT: scf.if
// CHECK-NOT: [%c1]
// CHECK: memref.store %{{.*}}, %{{.*}}[%c4]

// -----

// Products with 1, and an array that holds one number alone.
cu.kernel @factors attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %scale = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %one, %scale[%i] : memref<4xf32, 5>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %s = memref.load %scale[%i] : memref<4xf32, 5>
    %v = memref.load %x[%i] : memref<?xf32, 1>
    %p = arith.mulf %v, %s : f32
    memref.store %p, %x[%i] : memref<?xf32, 1>
  }
}
// CHECK-LABEL: cu.kernel @factors
// CHECK-NOT: memref.alloca
// CHECK: %[[V:.*]] = memref.load
// CHECK-NOT: arith.mulf
// CHECK: memref.store %[[V]]

// -----

// What has been loaded goes back to where it was: of a thread's own array that is no change.
cu.kernel @returned attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %acc = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<?xf32, 1>
    memref.store %v, %acc[%i] : memref<4xf32, 5>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %acc[%i] : memref<4xf32, 5>
    memref.store %v, %acc[%i] : memref<4xf32, 5>
  }
  %w = memref.load %acc[%c1] : memref<4xf32, 5>
  memref.store %w, %x[%c0] : memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @returned
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: memref.load %{{.*}}[%c1] : memref<4xf32, 5>

// RUN: kernelc-opt --cu-masked-bytes --cse -split-input-file %s | FileCheck %s

// The low bits through an array of the thread's own, the high bits in the same loop; the array goes.
// CHECK-LABEL: cu.kernel @nibbles
// CHECK: %[[D:.*]] = memref.alloca() : memref<16xi8, 5>
// CHECK-NOT: memref.alloca() : memref<16xi64, 5>
// CHECK: scf.for %[[I:.*]] = %c0 to %c16
// CHECK: %[[LOW:.*]] = cu.look %{{.*}}[%c32] by %[[D]][%[[I]]] shift 0 mask 15 : memref<160xi32, 3> by memref<16xi8, 5> -> i32
// CHECK: %[[HIGH:.*]] = cu.look %{{.*}}[%c0] by %[[D]][%[[I]]] shift 4 mask 15
// CHECK: arith.xori %[[LOW]], %[[HIGH]]
cu.kernel @nibbles attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 640 : i64} {
^bb0(%x: memref<?xi8, 1>, %y: memref<?xi32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %table = cu.shared 0 : memref<160xi32, 3>
  %m = arith.constant 15 : i32
  %four = arith.constant 4 : i32
  %d = memref.alloca() : memref<16xi8, 5>
  cu.copy %x[%c0] to %d[%c0] count 16 : memref<?xi8, 1> to memref<16xi8, 5>
  %low = memref.alloca() : memref<16xi64, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %b = memref.load %d[%i] : memref<16xi8, 5>
    %w = arith.extui %b : i8 to i32
    %n = arith.andi %w, %m : i32
    %l = arith.extsi %n : i32 to i64
    memref.store %l, %low[%i] : memref<16xi64, 5>
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %l = memref.load %low[%i] : memref<16xi64, 5>
    %j = arith.index_cast %l : i64 to index
    %at = arith.addi %c32, %j : index
    %u = memref.load %table[%at] : memref<160xi32, 3>
    %b = memref.load %d[%i] : memref<16xi8, 5>
    %w = arith.extui %b : i8 to i32
    %h = arith.shrsi %w, %four : i32
    %k = arith.index_cast %h : i32 to index
    %v = memref.load %table[%k] : memref<160xi32, 3>
    %s = arith.xori %u, %v : i32
    memref.store %s, %y[%i] : memref<?xi32, 1>
  }
}

// -----

// An array that is filled once more while what came of it is still to be read.
// CHECK-LABEL: cu.kernel @refilled
// CHECK-NOT: cu.look
cu.kernel @refilled attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 640 : i64} {
^bb0(%x: memref<?xi8, 1>, %y: memref<?xi32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %table = cu.shared 0 : memref<160xi32, 3>
  %m = arith.constant 15 : i32
  %d = memref.alloca() : memref<16xi8, 5>
  cu.copy %x[%c0] to %d[%c0] count 16 : memref<?xi8, 1> to memref<16xi8, 5>
  %low = memref.alloca() : memref<16xi64, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %b = memref.load %d[%i] : memref<16xi8, 5>
    %w = arith.extui %b : i8 to i32
    %n = arith.andi %w, %m : i32
    %l = arith.extsi %n : i32 to i64
    memref.store %l, %low[%i] : memref<16xi64, 5>
  }
  cu.copy %x[%c32] to %d[%c0] count 16 : memref<?xi8, 1> to memref<16xi8, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %l = memref.load %low[%i] : memref<16xi64, 5>
    %j = arith.index_cast %l : i64 to index
    %at = arith.addi %c32, %j : index
    %u = memref.load %table[%at] : memref<160xi32, 3>
    memref.store %u, %y[%i] : memref<?xi32, 1>
  }
}

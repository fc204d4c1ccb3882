// RUN: kernelc-opt --cu-forward-copies --cu-fold-decided --cse %s | FileCheck %s

// What an array holds everywhere decides a choice, and a condition that asks for it.
cu.kernel @decided attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %holds = memref.alloca() : memref<4xi1, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %true, %holds[%i] : memref<4xi1, 5>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<?xf32, 1>
    %h = memref.load %holds[%i] : memref<4xi1, 5>
    %c = arith.cmpf ogt, %v, %zero : f32
    %either = arith.ori %c, %h : i1
    %first = arith.select %h, %v, %zero : f32
    %second = arith.select %either, %first, %zero : f32
    %one = arith.constant 1.0 : f32
    %none = arith.mulf %one, %zero : f32
    %sum = arith.addf %second, %none : f32
    memref.store %sum, %y[%i] : memref<?xf32, 1>
  }
}
// CHECK-LABEL: cu.kernel @decided
// CHECK: %[[V:.*]] = memref.load
// CHECK-NOT: arith.select
// CHECK-NOT: arith.ori
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[V]], %{{.*}} : f32
// CHECK: memref.store %[[SUM]], %{{.*}}[%{{.*}}] : memref<?xf32, 1>

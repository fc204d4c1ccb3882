// A part of an accumulator is stored from where it is.
// RUN: kernelc-opt --cu-forward-copies --canonicalize %s | FileCheck %s
cu.kernel @part attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %acc = memref.alloca() : memref<64xf32, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %old = memref.load %x[%i] : memref<?xf32, 1>
    memref.store %old, %acc[%i] : memref<64xf32, 5>
  }
  %part = memref.alloca() : memref<16xf32, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %from = arith.addi %i, %c16 : index
    %e = memref.load %acc[%from] : memref<64xf32, 5>
    memref.store %e, %part[%i] : memref<16xf32, 5>
  }
  scf.for %j = %c0 to %c4 step %c1 {
    %at = arith.muli %j, %c4 : index
    cu.copy %part[%at] to %x[%at] count 4 : memref<16xf32, 5> to memref<?xf32, 1>
  }
}
// CHECK: memref.alloca() : memref<64xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: scf.for %[[J:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: %[[AT:.*]] = arith.muli %[[J]], %c4
// CHECK: %[[FROM:.*]] = arith.addi %{{.*}}, %c16
// CHECK-NEXT: cu.copy %{{.*}}[%[[FROM]]] to %{{.*}}[%[[AT]]] count 4

// Two digits of a register's number.
// RUN: kernelc-opt --cu-flatten --canonicalize --cse %s | FileCheck %s
cu.kernel @registers attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %start = arith.muli %i, %c4 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %reg = arith.addi %j, %start : index
      memref.store %v, %x[%reg] : memref<?xf32, 1>
    }
  }
}
// CHECK: scf.for %[[REG:.*]] = %c0 to %c32 step %c1 {
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[REG]]]
// CHECK-NEXT: }
// CHECK-NEXT: }

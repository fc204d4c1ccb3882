// The inner loop names registers: fully. 1000 rounds of 16 additions and a load are more than the
// target's 4096 operations; 200 are not, and leave no rest. The last loop is small: fully.
// RUN: kernelc-opt --cu-unroll %s | FileCheck %s
cu.kernel @sums attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (16)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c1000 = arith.constant 1000 : index
  %r = memref.alloca() : memref<16xf32, 5>
  scf.for %k = %c0 to %c1000 step %c1 {
    %v = memref.load %x[%k] : memref<?xf32, 1>
    scf.for %i = %c0 to %c16 step %c1 {
      %old = memref.load %r[%i] : memref<16xf32, 5>
      %new = arith.addf %old, %v : f32
      memref.store %new, %r[%i] : memref<16xf32, 5>
    }
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %r[%c0] : memref<16xf32, 5>
    memref.store %v, %x[%i] : memref<?xf32, 1>
  }
}
// CHECK: cu.kernel @sums
// CHECK: scf.for
// CHECK: scf.for
// CHECK: } {cu.unroll}
// CHECK-NEXT: } {cu.unroll = 200 : i64}
// CHECK: scf.for
// CHECK: } {cu.unroll}

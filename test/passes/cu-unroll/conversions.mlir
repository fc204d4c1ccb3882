// A thread's sixteen numbers are converted once, and what they differ by is a number of the text. Sums that may exceed 2^24 stay as they are.
// RUN: kernelc-opt --cu-unroll %s | FileCheck %s
// CHECK: scf.for %[[N:.*]] =
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[FROM:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[F:.*]] = arith.sitofp %[[FROM]] : i64 to f32
// CHECK: arith.sitofp
// CHECK: arith.addf %[[F]], %{{.*}} : f32
// CHECK: scf.for %[[M:.*]] =
// CHECK: scf.for
// CHECK: %[[AT:.*]] = arith.addi
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[AT]]
// CHECK-NEXT: arith.sitofp %[[WIDE]] : i64 to f32
// CHECK-NOT: sitofp
cu.kernel @numbers attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (16)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c1000 = arith.constant 1000 : index
  %large = arith.constant 100000000 : index
  %r = memref.alloca() : memref<16xf32, 5>
  scf.for %n = %c0 to %c1000 step %c1 {
    scf.for %i = %c0 to %c16 step %c1 {
      %double = arith.muli %i, %c2 : index
      %at = arith.addi %n, %double : index
      %wide = arith.index_cast %at : index to i64
      %f = arith.sitofp %wide : i64 to f32
      memref.store %f, %r[%i] : memref<16xf32, 5>
    }
  }
  scf.for %m = %c0 to %large step %c1 {
    scf.for %i = %c0 to %c16 step %c1 {
      %at = arith.addi %m, %i : index
      %wide = arith.index_cast %at : index to i64
      %f = arith.sitofp %wide : i64 to f32
      memref.store %f, %r[%i] : memref<16xf32, 5>
    }
  }
}

// Without the guard, indices have 64 bits: only the mark goes.
// RUN: kernelc-opt --cu-widen %s | FileCheck %s
// RUN: kernelc-opt --cu-widen="fits32=true" %s | FileCheck %s --check-prefix=GUARD
// CHECK: arith.muli %{{.*}}, %{{.*}} : index
// GUARD: arith.muli %{{.*}}, %{{.*}} overflow<nsw> : i64
cu.kernel @square attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (1)>}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xi64, 1>, %n: index):
  %c0 = arith.constant 0 : index
  %square = arith.muli %n, %n {cu.computed} : index
  %v = arith.index_cast %square : index to i64
  memref.store %v, %x[%c0] : memref<?xi64, 1>
}

// Every thread leaves a value and reads its neighbour's, round after round: a barrier
// before the read, and one before the next round writes. The last one was not needed.
// RUN: kernelc-opt --cu-barriers %s | FileCheck %s
cu.kernel @neighbour attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %next = arith.addi %t, %c1 : index
  %other = arith.remsi %next, %c128 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32, 1>
    memref.store %v, %s[%t] : memref<128xf32, 3>
    %w = memref.load %s[%other] : memref<128xf32, 3>
    %sum = arith.addf %v, %w : f32
  }
  cu.sync
}
// CHECK: cu.kernel @neighbour
// CHECK: scf.for
// CHECK: cu.sync
// CHECK-NEXT: memref.store %{{.*}}, %[[S:.*]][%{{.*}}]
// CHECK-NEXT: cu.sync
// CHECK-NEXT: memref.load %[[S]]
// CHECK-NOT: cu.sync

// The thread's place in its tile is small whatever N is, the tile's place in the tensor
// is not; in the branch, i is below 4096.
// RUN: kernelc-opt --cu-narrow %s | FileCheck %s
cu.kernel @places attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  %t = cu.thread_id
  %in_tile = arith.muli %t, %c4 : index
  %tile = arith.muli %b, %c512 : index
  %at = arith.addi %tile, %in_tile : index
  memref.store %v, %x[%at] : memref<?xf32, 1>
  scf.for %i = %c0 to %n step %c512 {
    %low = arith.cmpi slt, %i, %c4096 : index
    scf.if %low {
      %twice = arith.addi %i, %i : index
      memref.store %v, %x[%twice] : memref<?xf32, 1>
    }
  }
}
// CHECK: cu.kernel @places
// CHECK: cu.block_id {cu.narrow}
// CHECK: cu.thread_id {cu.narrow}
// CHECK: arith.muli %{{.*}}, %c4 {cu.narrow} : index
// CHECK: arith.muli %{{.*}}, %c512 : index
// CHECK: arith.addi %{{.*}}, %{{.*}} : index
// CHECK: scf.for %[[I:.*]] =
// CHECK: arith.addi %[[I]], %[[I]] {cu.narrow} : index
// CHECK-NOT: } {cu.narrow}

// RUN: kernelc-opt --cu-widen="fits32=true" %s | FileCheck %s

// Compared, divided, converted: the high bits count. N is 1000 at most in @bounded.
// CHECK-LABEL: cu.kernel @squares
// CHECK: arith.index_cast %{{.*}} : index to i64
// CHECK: %[[SQUARE:.*]] = arith.muli %{{.*}}, %{{.*}} overflow<nsw> : i64
// CHECK-NOT: arith.muli
// CHECK: arith.cmpi slt, %[[SQUARE]], %{{.*}} : i64
// CHECK-NOT: cu.computed
// CHECK-LABEL: cu.kernel @bounded
// CHECK: arith.muli %{{.*}}, %{{.*}} : index
// CHECK-NOT: cu.computed
cu.kernel @squares attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xi64, 1>, %n: index):
  %b = cu.block_id
  %c5 = arith.constant 5000000000 : index
  %square = arith.muli %b, %b {cu.computed} : index
  %v = arith.index_cast %square : index to i64
  %small = arith.cmpi slt, %square, %c5 : index
  scf.if %small {
    memref.store %v, %x[%b] : memref<?xi64, 1>
  }
}
cu.kernel @bounded attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {div = 1 : i64, max = 1000 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xi64, 1>, %n: index):
  %b = cu.block_id
  %square = arith.muli %b, %b {cu.computed} : index
  %v = arith.index_cast %square : index to i64
  memref.store %v, %x[%b] : memref<?xi64, 1>
}

// From data, through an array of registers, to a bounds form: an index again where it is one of the tensor's.
// CHECK-LABEL: cu.kernel @gather
// CHECK: memref.alloca() : memref<1xi64, 5>
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i64
// CHECK: %[[IN:.*]] = arith.minsi %[[LOW]], %{{.*}} : i64
// CHECK: %[[AT:.*]] = arith.index_cast %[[IN]] : i64 to index
// CHECK: memref.load %{{.*}}[%[[AT]]] : memref<?xf32, 1>
cu.kernel @gather attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {source = 1 : i64, shape = affine_map<()[s0] -> (s0)>},
    {div = 1 : i64, max = -1 : i64, size = 0 : i64}], grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %i: memref<?xi64, 1>, %n: index):
  %c0 = arith.constant 0 : index
  %b = cu.block_id
  %r = memref.alloca() : memref<1xindex, 5>
  %data = memref.load %i[%b] : memref<?xi64, 1>
  %subscript = arith.index_cast %data {cu.computed} : i64 to index
  memref.store %subscript, %r[%c0] : memref<1xindex, 5>
  %again = memref.load %r[%c0] : memref<1xindex, 5>
  %low = arith.maxsi %again, %c0 : index
  %in = arith.minsi %low, %n : index
  %v = memref.load %x[%in] : memref<?xf32, 1>
  memref.store %v, %x[%b] : memref<?xf32, 1>
}

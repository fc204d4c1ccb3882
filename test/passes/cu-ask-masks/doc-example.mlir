// RUN: kernelc-opt --cu-ask-masks %s | FileCheck %s

// The example of the pass's description, in rounds with a product. What the mask compares is data: one element of a private array.
// CHECK: scf.for %[[J0:.*]] = %c0 to %c8
// CHECK: cu.mma
// CHECK: %[[START:.*]] = memref.load
// CHECK: %[[ALL:.*]] = arith.cmpi sle, %[[START]], %[[J0]] : index
// CHECK-NEXT: scf.if %[[ALL]] {
// CHECK-NEXT: scf.for
// CHECK-NOT: arith.select
// CHECK: } else {
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : index
// CHECK: arith.select
cu.kernel @starts attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xindex, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant 0xFF800000 : f32
  %a = memref.alloca() : memref<8xi32, 5>
  %s = memref.alloca() : memref<16xf32, 5>
  %masked = memref.alloca() : memref<16xf32, 5>
  %starts = memref.alloca() : memref<1xindex, 5>
  cu.copy %x[%c0] to %starts[%c0] count 1 : memref<?xindex, 1> to memref<1xindex, 5>
  scf.for %j0 = %c0 to %c8 step %c1 {
    cu.mma "m16n8k16_bf16" %s[%c0], %a[%c0], %a[%c2] : memref<16xf32, 5>, memref<8xi32, 5>, memref<8xi32, 5>
    scf.for %i = %c0 to %c16 step %c1 {
      %j = arith.addi %j0, %i : index
      %start = memref.load %starts[%c0] : memref<1xindex, 5>
      %in = arith.cmpi sle, %start, %j : index
      %v = memref.load %s[%i] : memref<16xf32, 5>
      %chosen = arith.select %in, %v, %none : f32
      memref.store %chosen, %masked[%i] : memref<16xf32, 5>
    } {cu.unroll}
    cu.copy %masked[%c0] to %y[%c0] count 16 : memref<16xf32, 5> to memref<?xf32, 1>
  }
}

// The branch of a first round that never runs.
// RUN: kernelc-opt --cu-fold-decided %s | FileCheck %s
cu.kernel @never attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %moves = memref.alloca() : memref<1xi1, 5>
  memref.store %false, %moves[%c0] : memref<1xi1, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %m = memref.load %moves[%c0] : memref<1xi1, 5>
    %differs = arith.cmpf une, %one, %one : f32
    %next = arith.ori %m, %differs : i1
    memref.store %next, %moves[%c0] : memref<1xi1, 5>
  }
  %any = memref.load %moves[%c0] : memref<1xi1, 5>
  scf.if %any {
    memref.store %one, %x[%c1] : memref<?xf32, 1>
  }
  memref.store %one, %x[%c0] : memref<?xf32, 1>
}
// CHECK-LABEL: cu.kernel @never
// CHECK-NOT: memref.alloca
// CHECK-NOT: scf
// CHECK: memref.store %{{.*}}, %{{.*}}[%c0]
// CHECK-NEXT: }

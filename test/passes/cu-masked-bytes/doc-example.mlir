// RUN: kernelc-opt --cu-masked-bytes --cse %s | FileCheck %s

// The example of the pass's description.
// CHECK: cu.look %{{.*}}[%[[ROW:.*]]] by %{{.*}}[%{{.*}}] shift 4 mask 15 : memref<160xi32, 3> by memref<32xi8, 5> -> i32
cu.kernel @high attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 640 : i64} {
^bb0(%x: memref<?xi8, 1>, %y: memref<?xi32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %table = cu.shared 0 : memref<160xi32, 3>
  %c4 = arith.constant 4 : i32
  %d = memref.alloca() : memref<32xi8, 5>
  cu.copy %x[%c0] to %d[%c0] count 16 : memref<?xi8, 1> to memref<32xi8, 5>
  cu.copy %x[%c16] to %d[%c16] count 16 : memref<?xi8, 1> to memref<32xi8, 5>
  %row = cu.thread_id
  scf.for %i = %c0 to %c32 step %c1 {
    %b = memref.load %d[%i] : memref<32xi8, 5>
    %x1 = arith.extui %b : i8 to i32
    %n = arith.shrui %x1, %c4 : i32
    %j = arith.index_castui %n : i32 to index
    %at = arith.addi %row, %j : index
    %v = memref.load %table[%at] : memref<160xi32, 3>
    memref.store %v, %y[%i] : memref<?xi32, 1>
  }
}

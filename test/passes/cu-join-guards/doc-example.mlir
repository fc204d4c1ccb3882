// What is loaded, and what is stored of it, 30 times more than the example of the description has.
// RUN: kernelc-opt --cu-join-guards %s | FileCheck %s
cu.kernel @copy attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %i = cu.thread_id
  %inside = arith.cmpi slt, %i, %c50 : index
  %r = memref.alloca() : memref<4xf32, 5>
  scf.if %inside {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } else {
    scf.for %e = %c0 to %c4 step %c1 {
      memref.store %zero, %r[%e] : memref<4xf32, 5>
    }
  }
  scf.if %inside { cu.copy %r[%c0] to %y[%i] count 4 : memref<4xf32, 5> to memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
  scf.if %inside { memref.store %zero, %x[%i] : memref<?xf32, 1> }
}
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: %[[R:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK-NEXT: cu.copy %{{.*}}[%{{.*}}] to %[[R]][%c0] count 4
// CHECK-NEXT: cu.copy %[[R]][%c0] to %{{.*}}[%{{.*}}] count 4
// CHECK-COUNT-30: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: }

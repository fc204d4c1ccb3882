// The copies that fill slots, ahead of a loop and in it.
// RUN: kernelc-opt --cu-outline %s | FileCheck %s
cu.kernel @fill attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %s = cu.shared 0 : memref<256xf32, 3>
  %t = cu.shared 1024 : memref<256xf32, 3>
  %u = cu.shared 2048 : memref<256xf32, 3>
  scf.for %first = %c0 to %c3 step %c1 {
    %start = arith.muli %first, %c64 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %at = arith.addi %start, %j : index
      cu.cp_async %x[%at] to %s[%at] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
      cu.cp_async %y[%at] to %t[%at] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    }
    scf.for %j = %c0 to %c8 step %c1 {
      %at = arith.addi %start, %j : index
      cu.cp_async %x[%at] to %u[%at] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
      cu.warp_sync
    }
    cu.cp_async_commit
    cu.warp_sync
  }
  scf.for %k = %c0 to %c64 step %c1 {
    cu.cp_async_wait 2
    cu.sync
    %ahead = arith.addi %k, %c3 : index
    %start = arith.muli %ahead, %c64 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %at = arith.addi %start, %j : index
      cu.cp_async %x[%at] to %s[%at] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
      cu.cp_async %y[%at] to %t[%at] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    }
    scf.for %j = %c0 to %c8 step %c1 {
      %at = arith.addi %start, %j : index
      cu.cp_async %x[%at] to %u[%at] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
      cu.warp_sync
    }
    cu.cp_async_commit
    cu.warp_sync
  }
}
// CHECK: %[[FILL:.*]] = cu.lambda {
// CHECK-NEXT: ^bb0(%[[K:.*]]: index):
// CHECK: arith.muli %[[K]], %{{.*}}
// CHECK: scf.for
// CHECK: cu.cp_async
// CHECK: cu.cp_async_commit
// CHECK: } : (index) -> ()
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT: cu.call %[[FILL]](%[[FIRST]]) : (index) -> ()
// CHECK-NEXT: }
// CHECK: %[[AHEAD:.*]] = arith.addi
// CHECK-NEXT: cu.call %[[FILL]](%[[AHEAD]]) : (index) -> ()
// CHECK-NEXT: }

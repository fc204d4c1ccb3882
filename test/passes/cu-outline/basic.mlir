// RUN: kernelc-opt --cu-outline -split-input-file %s | FileCheck %s

// The first tile has no number and the first slot no start: both are sums that have an addend more in the loop.
// CHECK-LABEL: cu.kernel @sums
// CHECK: %[[LANE:.*]] = cu.thread_id
// CHECK-NEXT: cu.comment "Brings a tile into its slot."
// CHECK-NEXT: %[[FILL:.*]] = cu.lambda {
// CHECK-NEXT: ^bb0(%[[AT:.*]]: index, %[[START:.*]]: index):
// CHECK: %[[STEP:.*]] = arith.muli
// CHECK: %[[IN:.*]] = arith.addi %[[LANE]], %[[STEP]]
// CHECK: %[[FROM:.*]] = arith.addi %[[AT]], %[[IN]]
// CHECK: %[[TO:.*]] = arith.addi %[[START]], %[[IN]]
// CHECK: cu.cp_async %{{.*}}[%[[FROM]]] to %{{.*}}[%[[TO]]]
// CHECK: } : (index, index) -> ()
// CHECK: cu.call %[[FILL]](%c0{{.*}}, %c0{{.*}}) : (index, index) -> ()
// CHECK: scf.if
// CHECK: %[[ODD:.*]] = arith.remsi
// CHECK: %[[THERE:.*]] = arith.muli %[[ODD]], %c64
// CHECK: %[[TILE:.*]] = arith.muli %{{.*}}, %c16
// CHECK: cu.call %[[FILL]](%[[TILE]], %[[THERE]])
cu.kernel @sums attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s = cu.shared 0 : memref<256xf32, 3>
  %t = cu.shared 1024 : memref<256xf32, 3>
  %u = cu.shared 2048 : memref<256xf32, 3>
  %lane = cu.thread_id
  scf.for %j = %c0 to %c4 step %c1 {
    %step_j = arith.muli %j, %c8 : index
    %in_j = arith.addi %lane, %step_j : index
    cu.cp_async %x[%in_j] to %s[%in_j] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    cu.cp_async %y[%in_j] to %t[%in_j] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    cu.cp_async %x[%in_j] to %u[%in_j] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
  } {cu.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %step_i = arith.muli %i, %c8 : index
    %in_i = arith.addi %lane, %step_i : index
    cu.cp_async %x[%in_i] to %s[%in_i] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    cu.cp_async %y[%in_i] to %t[%in_i] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    cu.cp_async %x[%in_i] to %u[%in_i] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
  } {cu.unroll}
  cu.cp_async_commit
  scf.for %k = %c0 to %c64 step %c1 {
    cu.cp_async_wait 0
    cu.sync
    %ahead = arith.addi %k, %c1 {cu.narrow} : index
    %left = arith.cmpi slt, %ahead, %c64 : index
    scf.if %left {
      %odd = arith.remsi %ahead, %c4 : index
      %start = arith.muli %odd, %c64 : index
      %at = arith.muli %ahead, %c16 : index
      scf.for %j = %c0 to %c4 step %c1 {
        %step_j = arith.muli %j, %c8 : index
        %in_j = arith.addi %lane, %step_j : index
        %to_j = arith.addi %start, %in_j : index
        %from_j = arith.addi %at, %in_j : index
        cu.cp_async %x[%from_j] to %s[%to_j] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
        cu.cp_async %y[%from_j] to %t[%to_j] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
        cu.cp_async %x[%from_j] to %u[%to_j] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
      } {cu.unroll}
      scf.for %i = %c0 to %c4 step %c1 {
        %step_i = arith.muli %i, %c8 : index
        %in_i = arith.addi %lane, %step_i : index
        %to_i = arith.addi %start, %in_i : index
        %from_i = arith.addi %at, %in_i : index
        cu.cp_async %x[%from_i] to %s[%to_i] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
        cu.cp_async %y[%from_i] to %t[%to_i] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
        cu.cp_async %x[%from_i] to %u[%to_i] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
      } {cu.unroll}
    }
    cu.cp_async_commit
  }
}

// -----

// Registers that nobody else uses are the lambda's; a number that is computed twice is taken from around it.
// CHECK-LABEL: cu.kernel @own_arrays
// CHECK: %[[W:.*]] = arith.divsi
// CHECK-NEXT: %[[PART:.*]] = cu.lambda {
// CHECK-NEXT: ^bb0(%[[K:.*]]: index):
// CHECK: %[[R:.*]] = memref.alloca() : memref<4xf32, 5>
// CHECK: arith.addi %[[K]]
// CHECK: memref.store %{{.*}}, %[[R]]
// CHECK: %[[AT:.*]] = arith.addi %[[W]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
// CHECK: } : (index) -> ()
// CHECK: scf.for %[[I:.*]] = %c0 to %c64
// CHECK-NEXT: cu.call %[[PART]](%[[I]])
// CHECK-NEXT: }
// CHECK: scf.for %[[J:.*]] = %c0 to %c16
// CHECK-NEXT: cu.call %[[PART]](%[[J]])
// CHECK-NEXT: cu.warp_sync
cu.kernel @own_arrays attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %t = cu.thread_id
  %w = arith.divsi %t, %c16 : index
  scf.for %k = %c0 to %c64 step %c1 {
    %r = memref.alloca() : memref<4xf32, 5>
    scf.for %e = %c0 to %c4 step %c1 {
      %at = arith.addi %k, %e : index
      %v = memref.load %x[%at] : memref<?xf32, 1>
      memref.store %v, %r[%e] : memref<4xf32, 5>
    }
    scf.for %e = %c0 to %c4 step %c1 {
      %at = arith.addi %w, %e : index
      %v = memref.load %r[%e] : memref<4xf32, 5>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%at] : memref<?xf32, 1>
      cu.warp_sync
      memref.store %v, %x[%at] : memref<?xf32, 1>
    }
  }
  cu.sync
  scf.for %k = %c0 to %c16 step %c1 {
    %r = memref.alloca() : memref<4xf32, 5>
    scf.for %e = %c0 to %c4 step %c1 {
      %at = arith.addi %k, %e : index
      %v = memref.load %x[%at] : memref<?xf32, 1>
      memref.store %v, %r[%e] : memref<4xf32, 5>
    }
    cu.comment "does not count"
    scf.for %e = %c0 to %c4 step %c1 {
      %w2 = arith.divsi %t, %c16 : index
      %at = arith.addi %w2, %e : index
      %v = memref.load %r[%e] : memref<4xf32, 5>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%at] : memref<?xf32, 1>
      cu.warp_sync
      memref.store %v, %x[%at] : memref<?xf32, 1>
    }
    cu.warp_sync
  }
}

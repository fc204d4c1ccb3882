// RUN: kernelc-opt --cu-unroll %s | FileCheck %s

// Through arithmetic and the bounds of inner loops, into any op with an array.
// CHECK-LABEL: cu.kernel @registers
// CHECK: cu.copy
// CHECK-NEXT: } {cu.unroll}
// CHECK: memref.load
// CHECK-NOT: {cu.unroll
// CHECK: }
// CHECK-NEXT: } {cu.unroll}
cu.kernel @registers attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  %r = memref.alloca() : memref<16384xf32, 5>
  scf.for %i = %c0 to %c4096 step %c1 {
    %at = arith.muli %i, %c4 : index
    cu.copy %x[%n] to %r[%at] count 4 : memref<?xf32, 1> to memref<16384xf32, 5>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %i to %n step %c1 {
      %v = memref.load %r[%j] : memref<16384xf32, 5>
    }
  }
}

// A prime number of rounds, more than the budget: no number of them leaves no rest.
// CHECK-LABEL: cu.kernel @prime
// CHECK: } {cu.unroll = 1 : i64}
cu.kernel @prime attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (10007)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10007 = arith.constant 10007 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c10007 step %c1 {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  }
}

// Products in flight from one round to the next: NVRTC must not peel one off, and is not told
// how many there are.
// CHECK-LABEL: cu.kernel @products
// CHECK: %[[ROUNDS:.*]] = cu.opaque %c8
// CHECK: scf.for {{.*}} to %[[ROUNDS]] step
// CHECK: cu.wgmma_wait %{{.*}} pending 1
// CHECK: } {cu.unroll = 1 : i64}
// CHECK-NOT: cu.opaque
// CHECK: cu.wgmma_wait %{{.*}} pending 1
// CHECK: } {cu.unroll = 1 : i64}
cu.kernel @products attributes {sizes = ["N"], arg_sources = [{size = 0 : i64}], target = "sm_90a",
    grid = affine_map<()[s0] -> (1)>, threads = 128 : i64, shared_bytes = 0 : i64} {
^bb0(%n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %acc = memref.alloca() : memref<16xf32, 5>
  scf.for %i = %c0 to %c8 step %c1 {
    cu.wgmma_wait %acc pending 1 : memref<16xf32, 5>
  }
  scf.for %i = %c0 to %n step %c1 {
    cu.wgmma_wait %acc pending 1 : memref<16xf32, 5>
  }
  cu.wgmma_wait %acc pending 0 : memref<16xf32, 5>
}

// Rounds that wait for copies: unrolled, a block's first would wait for their instructions.
// CHECK-LABEL: cu.kernel @waits
// CHECK: cu.mbarrier_wait
// CHECK-NEXT: } {cu.unroll = 1 : i64}
// CHECK: cu.mbarrier_wait
// CHECK-NEXT: } {cu.unroll = 1 : i64}
cu.kernel @waits attributes {sizes = ["N"], arg_sources = [{size = 0 : i64}], target = "sm_90a",
    grid = affine_map<()[s0] -> (1)>, threads = 128 : i64, shared_bytes = 64 : i64} {
^bb0(%n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %full = cu.shared 0 : memref<8xi64, 3>
  scf.for %i = %c0 to %c8 step %c1 {
    cu.mbarrier_wait %full[%i] parity %c0 : memref<8xi64, 3>
  }
  scf.for %i = %c0 to %n step %c1 {
    cu.mbarrier_wait %full[%c0] parity %c0 : memref<8xi64, 3>
  }
}

// The place in memory that is copied to a register does not say which register.
// CHECK-LABEL: cu.kernel @memory_only
// CHECK: cu.copy
// CHECK-NEXT: } {cu.tiles}
cu.kernel @memory_only attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %r = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c64 step %c4 {
    cu.copy %x[%i] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  } {cu.tiles}
}

// Threads meet in each round: it stays one.
// CHECK-LABEL: cu.kernel @meets
// CHECK: cu.sync
// CHECK-NEXT: } {cu.unroll = 1 : i64}
cu.kernel @meets attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    cu.cp_async_wait 0
    cu.sync
  }
}

// The step of a shuffle: each round is an instruction with a distance of its own.
// CHECK-LABEL: cu.kernel @lanes
// CHECK: cu.shuffle_xor %{{.*}}, 1 shl %{{.*}} : f32
// CHECK: } {cu.unroll}
cu.kernel @lanes attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %t = cu.thread_id
  %v = memref.load %x[%t] : memref<?xf32, 1>
  %sum = scf.for %step = %c0 to %c5 step %c1 iter_args(%partial = %v) -> (f32) {
    %other = cu.shuffle_xor %partial, 1 shl %step : f32
    %next = arith.addf %partial, %other : f32
    scf.yield %next : f32
  }
  memref.store %sum, %x[%t] : memref<?xf32, 1>
}

// A prologue that is to be unrolled, of copies alone and of much code.
// CHECK-LABEL: cu.kernel @prologues
// CHECK: cu.cp_async
// CHECK-NEXT: } {cu.unroll}
// CHECK: math.exp
// CHECK: } {cu.unroll}
// CHECK: } {cu.unroll = 1 : i64}
cu.kernel @prologues attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 16384 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c128 = arith.constant 128 : index
  %s = cu.shared 0 : memref<4096xf32, 3>
  %r = memref.alloca() : memref<128xf32, 5>
  scf.for %first = %c0 to %c3 step %c1 {
    %at = arith.muli %first, %c128 : index
    cu.cp_async %x[%at] to %s[%at] count 4 : memref<?xf32, 1> to memref<4096xf32, 3>
  } {cu.unroll}
  scf.for %first = %c0 to %c3 step %c1 {
    %at = arith.muli %first, %c128 : index
    scf.for %i = %c0 to %c128 step %c1 {
      %p = arith.addi %at, %i : index
      %v = memref.load %x[%p] : memref<?xf32, 1>
      %e = math.exp %v : f32
      memref.store %e, %s[%p] : memref<4096xf32, 3>
      memref.store %e, %r[%i] : memref<128xf32, 5>
    }
  } {cu.unroll}
}

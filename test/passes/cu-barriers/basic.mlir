// RUN: kernelc-opt --cu-barriers %s | FileCheck %s

// Written by all, read by all, in loops that no barrier should be in.
// CHECK-LABEL: cu.kernel @hoisted
// CHECK: scf.for
// CHECK-NOT: cu.sync
// CHECK: }
// CHECK: cu.sync
// CHECK-NEXT: scf.for
// CHECK-NOT: cu.sync
cu.kernel @hoisted attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 64 : i64, shared_bytes = 1024 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant 1.0 : f32
  %s = cu.shared 0 : memref<256xf32, 3>
  %r = memref.alloca() : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.muli %i, %c64 : index
    %at = arith.addi %row, %t : index
    memref.store %v, %s[%at] : memref<256xf32, 3>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %w = memref.load %s[%i] : memref<256xf32, 3>
    memref.store %w, %r[%i] : memref<4xf32, 5>
  }
}

// Two exchanges in a loop, each in an array of its own: the barrier of one also says
// that the other's last round has been read. Two barriers, not four.
// CHECK-LABEL: cu.kernel @share_a_barrier
// CHECK: scf.for
// CHECK: memref.store
// CHECK: cu.sync
// CHECK-NEXT: memref.load
// CHECK: memref.store
// CHECK: cu.sync
// CHECK-NEXT: memref.load
// CHECK-NOT: cu.sync
cu.kernel @share_a_barrier attributes {sizes = ["N"], arg_sources = [{size = 0 : i64}], grid = affine_map<()[s0] -> (s0)>, threads = 64 : i64, shared_bytes = 512 : i64} {
^bb0(%n: index):
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %a = cu.shared 0 : memref<64xf32, 3>
  %b = cu.shared 256 : memref<64xf32, 3>
  %r = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%t] : memref<64xf32, 3>
    %w = memref.load %a[%c0] : memref<64xf32, 3>
    memref.store %w, %r[%c0] : memref<2xf32, 5>
    memref.store %v, %b[%t] : memref<64xf32, 3>
    %x = memref.load %b[%c0] : memref<64xf32, 3>
    memref.store %x, %r[%c1] : memref<2xf32, 5>
  }
}

// Slots of a ring: tile t is read while tile t + 3 is on its way. One barrier a round,
// behind the wait, although nobody said so; without knowing that the slots differ it
// would take two.
// CHECK-LABEL: cu.kernel @ring
// CHECK: cu.cp_async
// CHECK-NOT: cu.sync
// CHECK: scf.for
// CHECK-NEXT: cu.cp_async_wait 2
// CHECK: cu.sync
// CHECK-NOT: cu.sync
cu.kernel @ring attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 64 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c63 = arith.constant 63 : index
  %c256 = arith.constant 256 : index
  %own = arith.muli %t, %c4 : index
  %mirror = arith.subi %c63, %t : index
  %s = cu.shared 0 : memref<1024xf32, 3>
  %r = memref.alloca() : memref<4xf32, 5>
  cu.cp_async %x[%c0] to %s[%own] count 4 : memref<?xf32, 1> to memref<1024xf32, 3>
  cu.cp_async_commit
  scf.for %k = %c0 to %n step %c1 {
    cu.cp_async_wait 2
    %slot = arith.remsi %k, %c4 : index
    %start = arith.muli %slot, %c256 : index
    %other = arith.muli %mirror, %c4 : index
    %from = arith.addi %start, %other : index
    cu.copy %s[%from] to %r[%c0] count 4 : memref<1024xf32, 3> to memref<4xf32, 5>
    %next = arith.addi %k, %c3 : index
    %more = arith.cmpi slt, %next, %n : index
    scf.if %more {
      %free = arith.remsi %next, %c4 : index
      %begin = arith.muli %free, %c256 : index
      %to = arith.addi %begin, %own : index
      cu.cp_async %x[%next] to %s[%to] count 4 : memref<?xf32, 1> to memref<1024xf32, 3>
    }
    cu.cp_async_commit
  }
}

// The same where tile t + 1 is read at the end of round t, behind its barrier, in a loop over registers: the copy of the
// round after that goes into another slot, whichever round of that loop read it. No second barrier.
// CHECK-LABEL: cu.kernel @ring_ahead
// CHECK: scf.for
// CHECK-NOT: cu.sync
// CHECK: cu.cp_async_wait 2
// CHECK: cu.sync
// CHECK-NOT: cu.sync
cu.kernel @ring_ahead attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 64 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c63 = arith.constant 63 : index
  %c256 = arith.constant 256 : index
  %own = arith.muli %t, %c4 : index
  %mirror = arith.subi %c63, %t : index
  %s = cu.shared 0 : memref<1024xf32, 3>
  %r = memref.alloca() : memref<4xf32, 5>
  scf.for %k = %c0 to %n step %c1 {
    %ahead = arith.addi %k, %c3 : index
    %more = arith.cmpi slt, %ahead, %n : index
    scf.if %more {
      %free = arith.remsi %ahead, %c4 : index
      %begin = arith.muli %free, %c256 : index
      %to = arith.addi %begin, %own : index
      cu.cp_async %x[%ahead] to %s[%to] count 4 : memref<?xf32, 1> to memref<1024xf32, 3>
    }
    cu.cp_async_commit
    cu.cp_async_wait 2
    cu.sync
    %next = arith.addi %k, %c1 : index
    %slot = arith.remsi %next, %c4 : index
    %start = arith.muli %slot, %c256 : index
    scf.for %j = %c0 to %c2 step %c1 {
      %pair = arith.muli %j, %c2 : index
      %other = arith.muli %mirror, %c4 : index
      %row = arith.addi %start, %other : index
      %from = arith.addi %row, %pair : index
      cu.copy %s[%from] to %r[%pair] count 2 : memref<1024xf32, 3> to memref<4xf32, 5>
    }
  }
}

// The threads of a role meet by a number and a count of their own; what both roles
// use is there before they part.
// CHECK-LABEL: cu.kernel @roles
// CHECK: cu.mbarrier_init
// CHECK: cu.sync
// CHECK-NEXT: scf.if
// CHECK: cu.mbarrier_wait
// CHECK: else
// CHECK: memref.store
// CHECK: %[[ID:.*]] = arith.constant 1 : index
// CHECK-NEXT: cu.named_sync %[[ID]] threads 128
// CHECK-NEXT: memref.load
// CHECK: cu.mbarrier_arrive
// CHECK-NOT: sync
cu.kernel @roles attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 256 : i64, shared_bytes = 1024 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %bar = cu.shared 0 : memref<1xi64, 3>
  %s = cu.shared 128 : memref<128xf32, 3>
  %first = arith.cmpi eq, %t, %c0 : index
  scf.if %first {
    cu.mbarrier_init %bar[%c0] count 1 : memref<1xi64, 3>
  }
  %group = cu.warpgroup
  %fills = arith.cmpi sge, %group, %c1 : index
  scf.if %fills {
    cu.mbarrier_wait %bar[%c0] parity %c0 : memref<1xi64, 3>
  } else {
    memref.store %v, %s[%t] : memref<128xf32, 3>
    %w = memref.load %s[%c0] : memref<128xf32, 3>
    scf.if %first {
      cu.mbarrier_arrive %bar[%c0] : memref<1xi64, 3>
    }
  }
}

// A branch that all threads take the same way may hold a barrier.
// CHECK-LABEL: cu.kernel @uniform_branch
// CHECK: scf.if
// CHECK-NEXT: memref.store
// CHECK-NEXT: cu.sync
// CHECK-NEXT: memref.load
// CHECK-NOT: cu.sync
cu.kernel @uniform_branch attributes {sizes = ["N"], arg_sources = [{size = 0 : i64}], grid = affine_map<()[s0] -> (s0)>, threads = 64 : i64, shared_bytes = 256 : i64} {
^bb0(%n: index):
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %s = cu.shared 0 : memref<64xf32, 3>
  %some = arith.cmpi sgt, %n, %c0 : index
  scf.if %some {
    memref.store %v, %s[%t] : memref<64xf32, 3>
    %w = memref.load %s[%c0] : memref<64xf32, 3>
  }
}

// So may rounds whose number all threads read from one place that nobody writes.
// CHECK-LABEL: cu.kernel @rounds_from_memory
// CHECK: scf.for
// CHECK-NEXT: cu.sync
// CHECK-NEXT: memref.store
// CHECK-NEXT: cu.sync
// CHECK-NEXT: memref.load
// CHECK-NOT: cu.sync
cu.kernel @rounds_from_memory attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (1)>}],
    grid = affine_map<() -> (1)>, threads = 64 : i64, shared_bytes = 256 : i64} {
^bb0(%rounds: memref<?xi32, 1>):
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %s = cu.shared 0 : memref<64xf32, 3>
  %count = memref.load %rounds[%c0] : memref<?xi32, 1>
  %n = arith.index_cast %count : i32 to index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %s[%t] : memref<64xf32, 3>
    %w = memref.load %s[%c0] : memref<64xf32, 3>
  }
}

// And rounds whose number all threads read from one place of shared memory, or combine from several, where barriers order what
// stands there.
// CHECK-LABEL: cu.kernel @rounds_from_shared
// CHECK: cu.sync
// CHECK-NEXT: scf.for
// CHECK: memref.load
// CHECK: scf.for
// CHECK-NEXT: cu.sync
// CHECK-NEXT: memref.store
// CHECK-NEXT: cu.sync
// CHECK-NEXT: memref.load
cu.kernel @rounds_from_shared attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 64 : i64, shared_bytes = 512 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  %v = arith.constant 1.0 : f32
  %parts = cu.shared 0 : memref<2xi32, 3>
  %s = cu.shared 128 : memref<64xf32, 3>
  %warp = arith.divsi %t, %c32 : index
  %lane = arith.remsi %t, %c32 : index
  %speaks = arith.cmpi eq, %lane, %c0 : index
  %own = arith.index_cast %warp : index to i32
  %count = memref.alloca() : memref<1xi32, 5>
  memref.store %own, %count[%c0] : memref<1xi32, 5>
  scf.if %speaks {
    memref.store %own, %parts[%warp] : memref<2xi32, 3>
  }
  %most = scf.for %w = %c0 to %c2 step %c1 iter_args(%so_far = %zero) -> (i32) {
    %part = memref.load %parts[%w] : memref<2xi32, 3>
    %larger = arith.maxsi %so_far, %part : i32
    scf.yield %larger : i32
  }
  memref.store %most, %count[%c0] : memref<1xi32, 5>
  %rounds = memref.load %count[%c0] : memref<1xi32, 5>
  %n = arith.index_cast %rounds : i32 to index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %s[%t] : memref<64xf32, 3>
    %w = memref.load %s[%c0] : memref<64xf32, 3>
  }
}

// A product reads what its descriptor describes, wherever the descriptor is made.
// CHECK-LABEL: cu.kernel @described
// CHECK: cu.proxy_fence
// CHECK-NEXT: cu.sync
// CHECK-NEXT: cu.wgmma
cu.kernel @described attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 4096 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : bf16
  %s = cu.shared 0 : memref<2048xbf16, 3>
  %acc = memref.alloca() : memref<4xf32, 5>
  %desc = cu.smem_desc %s[%c0] leading 16 stride 256 swizzle 32 : memref<2048xbf16, 3>
  %next = cu.desc_advance %desc by %c16
  memref.store %v, %s[%t] : memref<2048xbf16, 3>
  cu.proxy_fence
  cu.sync
  cu.wgmma "bf16" %acc[%c0], %desc, %next {fresh, n = 8 : i64, transpose_a = false, transpose_b = false} : memref<4xf32, 5>
}

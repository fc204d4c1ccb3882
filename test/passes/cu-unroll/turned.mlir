// A function of 64 registers stands once for eight of them: the loop over parts stays in the text, and what it names turns by a part. The
// vector turns with it. `y` takes the place of `t`, which ends there. Nothing changes where `t` is read again, where the residual would
// be held beside the sums, where the loop reads memory, and where much is read from memory beside it, be it behind it: blocks
// of few threads share a multiprocessor, so that others have work meanwhile.
// RUN: kernelc-opt --cu-unroll %s | FileCheck %s

// CHECK-LABEL: cu.kernel @in_place
// CHECK: %[[T:.*]] = memref.alloca() : memref<64xf32, 5>
// CHECK: %[[V:.*]] = memref.alloca() : memref<8xf32, 5>
// CHECK-NOT: memref.alloca
// CHECK: cu.copy
// CHECK: scf.for
// CHECK: scf.for %[[J:.*]] =
// CHECK: memref.load %[[T]][%[[J]]]
// CHECK: memref.load %[[V]][%c0
// CHECK: memref.store %{{.*}}, %[[T]][%[[J]]]
// CHECK-NEXT: } {cu.unroll}
// CHECK: %[[TURNED:.*]] = memref.alloca() : memref<64xf32, 5>
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[I]], %c8
// CHECK-NEXT: %[[FROM:.*]] = arith.remsi %[[SUM]], %c64
// CHECK-NEXT: %[[E:.*]] = memref.load %[[T]][%[[FROM]]]
// CHECK-NEXT: memref.store %[[E]], %[[TURNED]][%[[I]]]
// CHECK-NEXT: } {cu.unroll}
// CHECK: scf.for %[[I2:.*]] =
// CHECK-NEXT: %[[E2:.*]] = memref.load %[[TURNED]][%[[I2]]]
// CHECK-NEXT: memref.store %[[E2]], %[[T]][%[[I2]]]
// CHECK: memref.alloca() : memref<8xf32, 5>
// CHECK: } {cu.unroll = 1 : i64}
// CHECK: cu.copy %[[T]]
cu.kernel @in_place attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  %v = memref.alloca() : memref<8xf32, 5>
  %y = memref.alloca() : memref<64xf32, 5>
  %zero_t = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_t, %t[%i] : memref<64xf32, 5>
  }
  cu.copy %x[%c0] to %v[%c0] count 8 : memref<?xf32, 1> to memref<8xf32, 5>
  scf.for %i = %c0 to %c8 step %c1 {
    %row = arith.muli %i, %c8 : index
    scf.for %j = %c0 to %c8 step %c1 {
      %at = arith.addi %j, %row : index
      %e = memref.load %t[%at] : memref<64xf32, 5>
      %b = memref.load %v[%i] : memref<8xf32, 5>
      %h = math.tanh %e : f32
      %f = math.erf %h : f32
      %g = arith.addf %f, %b : f32
      memref.store %g, %y[%at] : memref<64xf32, 5>
    }
  }
  cu.copy %y[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
}

// One loop, in two: the parts, and eight rounds of each.
// CHECK-LABEL: cu.kernel @in_parts
// CHECK: scf.for %[[PART:.*]] = %c0{{.*}} to %c8
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c8
// CHECK: memref.load %{{.*}}[%[[I]]]
// CHECK: cu.unroll = 1

cu.kernel @in_parts attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  %y = memref.alloca() : memref<64xf32, 5>
  %zero_t = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_t, %t[%i] : memref<64xf32, 5>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %t[%i] : memref<64xf32, 5>
    %h = math.tanh %e : f32
    %f = math.erf %h : f32
    memref.store %f, %y[%i] : memref<64xf32, 5>
  }
  cu.copy %y[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
}

// CHECK-LABEL: cu.kernel @read_again
// CHECK-NOT: cu.unroll = 1
cu.kernel @read_again attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  %y = memref.alloca() : memref<64xf32, 5>
  %zero_t = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_t, %t[%i] : memref<64xf32, 5>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %t[%i] : memref<64xf32, 5>
    %h = math.tanh %e : f32
    %f = math.erf %h : f32
    memref.store %f, %y[%i] : memref<64xf32, 5>
  }
  cu.copy %y[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
  cu.copy %t[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
}

// CHECK-LABEL: cu.kernel @held_beside
// CHECK-NOT: cu.unroll = 1
cu.kernel @held_beside attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  %r = memref.alloca() : memref<64xf32, 5>
  %zero_t = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_t, %t[%i] : memref<64xf32, 5>
  }
  %zero_r = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_r, %r[%i] : memref<64xf32, 5>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %t[%i] : memref<64xf32, 5>
    %o = memref.load %r[%i] : memref<64xf32, 5>
    %s = arith.addf %e, %o : f32
    %h = math.tanh %s : f32
    %f = math.erf %h : f32
    memref.store %f, %t[%i] : memref<64xf32, 5>
  }
  cu.copy %t[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
}

// CHECK-LABEL: cu.kernel @reads_memory
// CHECK-NOT: cu.unroll = 1
cu.kernel @reads_memory attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %x[%i] : memref<?xf32, 1>
    %h = math.tanh %e : f32
    %f = math.erf %h : f32
    memref.store %f, %t[%i] : memref<64xf32, 5>
  }
  cu.copy %t[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
}

// CHECK-LABEL: cu.kernel @loads_behind
// CHECK-NOT: cu.unroll = 1
cu.kernel @loads_behind attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 256 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  %y = memref.alloca() : memref<64xf32, 5>
  %zero_t = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_t, %t[%i] : memref<64xf32, 5>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %t[%i] : memref<64xf32, 5>
    %h = math.tanh %e : f32
    %f = math.erf %h : f32
    memref.store %f, %y[%i] : memref<64xf32, 5>
  }
  cu.copy %y[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %x[%i] : memref<?xf32, 1>
    %o = memref.load %y[%i] : memref<64xf32, 5>
    %s = arith.addf %e, %o : f32
    memref.store %s, %x[%i] : memref<?xf32, 1>
  }
}

// CHECK-LABEL: cu.kernel @loads_behind_of_a_small_block
// CHECK: cu.unroll = 1
cu.kernel @loads_behind_of_a_small_block attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32, 5>
  %y = memref.alloca() : memref<64xf32, 5>
  %zero_t = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero_t, %t[%i] : memref<64xf32, 5>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %t[%i] : memref<64xf32, 5>
    %h = math.tanh %e : f32
    %f = math.erf %h : f32
    memref.store %f, %y[%i] : memref<64xf32, 5>
  }
  cu.copy %y[%c0] to %x[%c0] count 64 : memref<64xf32, 5> to memref<?xf32, 1>
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %x[%i] : memref<?xf32, 1>
    %o = memref.load %y[%i] : memref<64xf32, 5>
    %s = arith.addf %e, %o : f32
    memref.store %s, %x[%i] : memref<?xf32, 1>
  }
}

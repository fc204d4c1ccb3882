// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-roll -split-input-file %s -o %t.after && diff %t.before %t.after

// Numbers in no progression; a part that reads what the part before has read; two that are few lines.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  %c11 = arith.constant 11 : index
  %a = memref.load %x[%c0] : memref<?xf32, 1>
  memref.store %a, %x[%c1] : memref<?xf32, 1>
  cu.warp_sync
  cu.warp_sync
  cu.warp_sync
  %b = memref.load %x[%c4] : memref<?xf32, 1>
  memref.store %b, %x[%c1] : memref<?xf32, 1>
  cu.warp_sync
  cu.warp_sync
  cu.warp_sync
  %c = memref.load %x[%c9] : memref<?xf32, 1>
  memref.store %c, %x[%c1] : memref<?xf32, 1>
  cu.sync
  cu.warp_sync
  cu.warp_sync
  cu.sync
  %d = memref.load %x[%c11] : memref<?xf32, 1>
  memref.store %d, %x[%c1] : memref<?xf32, 1>
}

// -----

// Each part reads what the one before has loaded: a value that a loop would have to carry.
cu.kernel @carried attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a0 = memref.load %x[%c0] : memref<?xf32, 1>
  %a1 = memref.load %x[%c1] : memref<?xf32, 1>
  %s1 = arith.addf %a0, %a1 : f32
  memref.store %s1, %x[%c1] : memref<?xf32, 1>
  cu.sync
  cu.warp_sync
  %a2 = memref.load %x[%c2] : memref<?xf32, 1>
  %s2 = arith.addf %a1, %a2 : f32
  memref.store %s2, %x[%c2] : memref<?xf32, 1>
  cu.sync
  cu.warp_sync
  %a3 = memref.load %x[%c3] : memref<?xf32, 1>
  %s3 = arith.addf %a2, %a3 : f32
  memref.store %s3, %x[%c3] : memref<?xf32, 1>
  cu.sync
  cu.warp_sync
  %a4 = memref.load %x[%c4] : memref<?xf32, 1>
  %s4 = arith.addf %a3, %a4 : f32
  memref.store %s4, %x[%c4] : memref<?xf32, 1>
  cu.sync
  cu.warp_sync
}

// -----

// Products of warpgroups stay where they stand; an array that an op takes whole stays itself.
cu.kernel @products attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 0 : i64,
    target = "sm_90a"} {
  %a = memref.alloca() : memref<4xf32, 5>
  %b = memref.alloca() : memref<4xf32, 5>
  cu.wgmma_fence %a : memref<4xf32, 5>
  cu.wgmma_commit
  cu.wgmma_wait %a pending 0 : memref<4xf32, 5>
  cu.proxy_fence
  cu.wgmma_fence %b : memref<4xf32, 5>
  cu.wgmma_commit
  cu.wgmma_wait %b pending 0 : memref<4xf32, 5>
  cu.proxy_fence
  cu.wgmma_fence %a : memref<4xf32, 5>
  cu.wgmma_commit
  cu.wgmma_wait %a pending 0 : memref<4xf32, 5>
  cu.proxy_fence
}

// -----

// Loops of other bounds: a loop around them would take their constants away.
cu.kernel @bounds attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    cu.warp_sync
    cu.warp_sync
    cu.warp_sync
    memref.store %v, %x[%i] : memref<?xf32, 1>
  } {cu.unroll}
  scf.for %i = %c8 to %c16 step %c1 {
    cu.warp_sync
    cu.warp_sync
    cu.warp_sync
    memref.store %v, %x[%i] : memref<?xf32, 1>
  } {cu.unroll}
  scf.for %i = %c16 to %c24 step %c1 {
    cu.warp_sync
    cu.warp_sync
    cu.warp_sync
    memref.store %v, %x[%i] : memref<?xf32, 1>
  } {cu.unroll}
}

// -----

// Registers that every part reads although they are the own ones of part 0: nothing says which of the parts' they are in a loop.
cu.kernel @own_of_part_0 attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = cu.thread_id
  %s0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%t] to %s0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %s1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %s1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %s0[%i] : memref<4xf32, 5>
    %b = memref.load %s0[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %b : f32
    memref.store %v, %y[%i] : memref<?xf32, 1>
    memref.store %a, %y[%i] : memref<?xf32, 1>
    memref.store %b, %y[%i] : memref<?xf32, 1>
    memref.store %v, %y[%i] : memref<?xf32, 1>
    memref.store %a, %y[%i] : memref<?xf32, 1>
  } {cu.unroll}
  cu.sync
  scf.for %i = %c0 to %c4 step %c1 {
    %i1 = arith.addi %i, %c4 : index
    %a = memref.load %s1[%i] : memref<4xf32, 5>
    %b = memref.load %s0[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %b : f32
    memref.store %v, %y[%i1] : memref<?xf32, 1>
    memref.store %a, %y[%i1] : memref<?xf32, 1>
    memref.store %b, %y[%i1] : memref<?xf32, 1>
    memref.store %v, %y[%i1] : memref<?xf32, 1>
    memref.store %a, %y[%i1] : memref<?xf32, 1>
  } {cu.unroll}
  cu.sync
}

// -----

// Registers that every part reads although they are the own ones of part 1: nothing says which of the parts' they are in a loop.
cu.kernel @own_of_part_1 attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = cu.thread_id
  %s0 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%t] to %s0[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %s1 = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c4] to %s1[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %s0[%i] : memref<4xf32, 5>
    %b = memref.load %s1[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %b : f32
    memref.store %v, %y[%i] : memref<?xf32, 1>
    memref.store %a, %y[%i] : memref<?xf32, 1>
    memref.store %b, %y[%i] : memref<?xf32, 1>
    memref.store %v, %y[%i] : memref<?xf32, 1>
    memref.store %a, %y[%i] : memref<?xf32, 1>
  } {cu.unroll}
  cu.sync
  scf.for %i = %c0 to %c4 step %c1 {
    %i1 = arith.addi %i, %c4 : index
    %a = memref.load %s1[%i] : memref<4xf32, 5>
    %b = memref.load %s1[%i] : memref<4xf32, 5>
    %v = arith.mulf %a, %b : f32
    memref.store %v, %y[%i1] : memref<?xf32, 1>
    memref.store %a, %y[%i1] : memref<?xf32, 1>
    memref.store %b, %y[%i1] : memref<?xf32, 1>
    memref.store %v, %y[%i1] : memref<?xf32, 1>
    memref.store %a, %y[%i1] : memref<?xf32, 1>
  } {cu.unroll}
  cu.sync
}

// -----

// Each step reads what the one before has left once it has written its own: the arrays cannot be one.
cu.kernel @kept attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %t = cu.thread_id
  %pivot = arith.constant 1.0 : f32
  %n0 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    memref.store %c64, %n0[%i] : memref<2xindex, 5>
  } {cu.unroll}
  %r0 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n0[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r0[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s0 = arith.constant 32 : index
  %n1 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n0[%i] : memref<2xindex, 5>
    %v = memref.load %r0[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s0 : index
    memref.store %next, %n1[%i] : memref<2xindex, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n0[%i] : memref<2xindex, 5>
    memref.store %pivot, %y[%n] : memref<?xf32, 1>
  } {cu.unroll}
  %r1 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n1[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r1[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s1 = arith.constant 16 : index
  %n2 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n1[%i] : memref<2xindex, 5>
    %v = memref.load %r1[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s1 : index
    memref.store %next, %n2[%i] : memref<2xindex, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n1[%i] : memref<2xindex, 5>
    memref.store %pivot, %y[%n] : memref<?xf32, 1>
  } {cu.unroll}
  %r2 = memref.alloca() : memref<2xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n2[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %r2[%i] : memref<2xf32, 5>
  } {cu.unroll}
  %s2 = arith.constant 8 : index
  %n3 = memref.alloca() : memref<2xindex, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n2[%i] : memref<2xindex, 5>
    %v = memref.load %r2[%i] : memref<2xf32, 5>
    %below = arith.cmpf olt, %v, %pivot : f32
    %f = arith.select %below, %n, %c0 : index
    %next = arith.addi %f, %s2 : index
    memref.store %next, %n3[%i] : memref<2xindex, 5>
  } {cu.unroll}
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n2[%i] : memref<2xindex, 5>
    memref.store %pivot, %y[%n] : memref<?xf32, 1>
  } {cu.unroll}
  scf.for %i = %c0 to %c2 step %c1 {
    %n = memref.load %n3[%i] : memref<2xindex, 5>
    %v = memref.load %x[%n] : memref<?xf32, 1>
    memref.store %v, %y[%i] : memref<?xf32, 1>
  } {cu.unroll}
}

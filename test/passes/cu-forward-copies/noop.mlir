// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-forward-copies -split-input-file %s -o %t.after && diff %t.before %t.after

// The source is written to before the copy has been read last.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  %own = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %e = memref.load %r[%i] : memref<4xf32, 5>
    memref.store %e, %own[%i] : memref<4xf32, 5>
  }
  memref.store %v, %r[%c1] : memref<4xf32, 5>
  cu.copy %own[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %r[%c0] to %x[%c8] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

// Both go on, each in its own way; the source in the next round, too.
cu.kernel @both attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  %own = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %e = memref.load %r[%i] : memref<4xf32, 5>
    memref.store %e, %own[%i] : memref<4xf32, 5>
  }
  memref.store %v, %own[%c1] : memref<4xf32, 5>
  cu.copy %own[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
  cu.copy %r[%c0] to %x[%c8] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

cu.kernel @next_round attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %round = %c0 to %c8 step %c1 {
    %own = memref.alloca() : memref<4xf32, 5>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %r[%i] : memref<4xf32, 5>
      memref.store %e, %own[%i] : memref<4xf32, 5>
    }
    memref.store %v, %own[%c1] : memref<4xf32, 5>
    cu.copy %own[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
  }
}

// -----

// What goes back is asked for in between; or only a part of it goes back.
cu.kernel @asked attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %round = %c0 to %c8 step %c1 {
    %own = memref.alloca() : memref<4xf32, 5>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %r[%i] : memref<4xf32, 5>
      memref.store %e, %own[%i] : memref<4xf32, 5>
    }
    memref.store %v, %own[%c1] : memref<4xf32, 5>
    cu.copy %r[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %own[%i] : memref<4xf32, 5>
      memref.store %e, %r[%i] : memref<4xf32, 5>
    }
  }
}

// -----

cu.kernel @part_of_it attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %round = %c0 to %c8 step %c1 {
    %own = memref.alloca() : memref<4xf32, 5>
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %r[%i] : memref<4xf32, 5>
      memref.store %e, %own[%i] : memref<4xf32, 5>
    }
    memref.store %v, %own[%c1] : memref<4xf32, 5>
    scf.for %i = %c0 to %c2 step %c1 {
      %e = memref.load %own[%i] : memref<4xf32, 5>
      memref.store %e, %r[%i] : memref<4xf32, 5>
    }
  }
  cu.copy %r[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

// A vector that would begin at an odd element; one that would cross into another row; numbers that nobody knows to be below 4.
cu.kernel @odd attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<8xf32, 5>
  %own = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<8xf32, 5>
  cu.copy %x[%c4] to %r[%c4] count 4 : memref<?xf32, 1> to memref<8xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    %from = arith.addi %i, %c1 : index
    %e = memref.load %r[%from] : memref<8xf32, 5>
    memref.store %e, %own[%i] : memref<4xf32, 5>
  }
  cu.copy %own[%c0] to %x[%c4] count 2 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

cu.kernel @rows attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<16xf32, 5>
  %own = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<16xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %row = arith.muli %i, %c2 : index
    %far = arith.muli %i, %c8 : index
    scf.for %j = %c0 to %c2 step %c1 {
      %to = arith.addi %row, %j : index
      %from = arith.addi %far, %j : index
      %e = memref.load %r[%from] : memref<16xf32, 5>
      memref.store %e, %own[%to] : memref<4xf32, 5>
    }
  }
  cu.copy %own[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

// -----

cu.kernel @anywhere attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  %own = memref.alloca() : memref<8xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  scf.for %i = %c0 to %c2 step %c1 {
    %row = arith.muli %i, %c4 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %to = arith.addi %row, %j : index
      %e = memref.load %r[%j] : memref<4xf32, 5>
      memref.store %e, %own[%to] : memref<8xf32, 5>
    }
  }
  %tid = cu.thread_id
  %e = memref.load %own[%tid] : memref<8xf32, 5>
  memref.store %e, %x[%tid] : memref<?xf32, 1>
}

// -----

// Filled in a branch.
cu.kernel @branch attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %r = memref.alloca() : memref<4xf32, 5>
  %own = memref.alloca() : memref<4xf32, 5>
  cu.copy %x[%c0] to %r[%c0] count 4 : memref<?xf32, 1> to memref<4xf32, 5>
  %tid = cu.thread_id
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    scf.for %i = %c0 to %c4 step %c1 {
      %e = memref.load %r[%i] : memref<4xf32, 5>
      memref.store %e, %own[%i] : memref<4xf32, 5>
    }
  }
  cu.copy %own[%c0] to %x[%c4] count 4 : memref<4xf32, 5> to memref<?xf32, 1>
}

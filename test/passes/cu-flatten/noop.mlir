// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-flatten -split-input-file %s -o %t.after && diff %t.before %t.after

// A variable with a use of its own.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %start = arith.muli %i, %c4 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %reg = arith.addi %j, %start : index
      memref.store %v, %x[%reg] : memref<?xf32, 1>
      memref.store %v, %x[%j] : memref<?xf32, 1>
    }
  }
}

// -----

// Every other number only.
cu.kernel @gaps attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %start = arith.muli %i, %c8 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %reg = arith.addi %j, %start : index
      memref.store %v, %x[%reg] : memref<?xf32, 1>
    }
  }
}

// -----

// The inner loop counts the slower digit: elements would come in another order.
cu.kernel @other_order attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %start = arith.muli %j, %c4 : index
      %reg = arith.addi %i, %start : index
      memref.store %v, %x[%reg] : memref<?xf32, 1>
    }
  }
}

// -----

// One is unrolled, the other is not.
cu.kernel @marks attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %start = arith.muli %i, %c4 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %reg = arith.addi %j, %start : index
      memref.store %v, %x[%reg] : memref<?xf32, 1>
    } {cu.unroll}
  } {cu.unroll = 1 : i64}
}

// -----

// A statement beside the inner loop; a sum that is carried.
cu.kernel @statements attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %start = arith.muli %i, %c4 : index
    cu.warp_sync
    scf.for %j = %c0 to %c4 step %c1 {
      %reg = arith.addi %j, %start : index
      memref.store %v, %x[%reg] : memref<?xf32, 1>
    }
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %start = arith.muli %i, %c4 : index
    %sum = scf.for %j = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (f32) {
      %reg = arith.addi %j, %start : index
      %e = memref.load %x[%reg] : memref<?xf32, 1>
      %next = arith.addf %s, %e : f32
      scf.yield %next : f32
    }
  }
}

// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-fold-decided -split-input-file %s -o %t.after && diff %t.before %t.after

// Two numbers are stored: which one a load gets is not known.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %true = arith.constant true
  %moves = memref.alloca() : memref<1xi1, 5>
  memref.store %false, %moves[%c0] : memref<1xi1, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %true, %moves[%c0] : memref<1xi1, 5>
  }
  %any = memref.load %moves[%c0] : memref<1xi1, 5>
  scf.if %any {
    memref.store %one, %x[%c1] : memref<?xf32, 1>
  }
}

// -----

// Zeros differ by their signs.
cu.kernel @signs attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %array = memref.alloca() : memref<2xf32, 5>
  memref.store %zero, %array[%c0] : memref<2xf32, 5>
  memref.store %minus, %array[%c1] : memref<2xf32, 5>
  scf.for %i = %c0 to %c1 step %c1 {
    %v = memref.load %array[%i] : memref<2xf32, 5>
    memref.store %v, %x[%c4] : memref<?xf32, 1>
    memref.store %one, %x[%i] : memref<?xf32, 1>
    %any = arith.cmpf oeq, %v, %one : f32
    scf.if %any {
      memref.store %one, %x[%i] : memref<?xf32, 1>
    }
  }
}

// -----

// Somebody writes in between; elements lie at other places; memory is not a thread's own.
cu.kernel @written attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %acc = memref.alloca() : memref<4xf32, 5>
  %v = memref.load %acc[%c0] : memref<4xf32, 5>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %one, %acc[%i] : memref<4xf32, 5>
  }
  memref.store %v, %acc[%c0] : memref<4xf32, 5>
  %w = memref.load %acc[%c0] : memref<4xf32, 5>
  memref.store %w, %acc[%c1] : memref<4xf32, 5>
  %u = memref.load %acc[%c1] : memref<4xf32, 5>
  memref.store %u, %x[%c1] : memref<?xf32, 1>
  %t = memref.load %x[%c0] : memref<?xf32, 1>
  memref.store %t, %x[%c0] : memref<?xf32, 1>
}

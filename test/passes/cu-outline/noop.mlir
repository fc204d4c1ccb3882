// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-outline -split-input-file %s -o %t.after && diff %t.before %t.after

// Too few lines.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s = cu.shared 0 : memref<256xf32, 3>
  scf.for %k = %c0 to %c64 step %c1 {
    cu.cp_async %x[%k] to %s[%k] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    cu.cp_async_commit
  }
  scf.for %k = %c0 to %c16 step %c1 {
    cu.cp_async %x[%k] to %s[%k] count 1 : memref<?xf32, 1> to memref<256xf32, 3>
    cu.cp_async_commit
  }
}

// -----

// Results are used behind the statements.
cu.kernel @results attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %k = %c0 to %c64 step %c1 iter_args(%before = %zero) -> (f32) {
    %at1 = arith.addi %k, %c1 : index
    %v1 = memref.load %x[%at1] : memref<?xf32, 1>
    %a1 = arith.addf %before, %v1 : f32
    %at2 = arith.addi %k, %c2 : index
    %v2 = memref.load %x[%at2] : memref<?xf32, 1>
    %a2 = arith.addf %a1, %v2 : f32
    %at3 = arith.addi %k, %c3 : index
    %v3 = memref.load %x[%at3] : memref<?xf32, 1>
    %a3 = arith.addf %a2, %v3 : f32
    %at4 = arith.addi %k, %c4 : index
    %v4 = memref.load %x[%at4] : memref<?xf32, 1>
    %a4 = arith.addf %a3, %v4 : f32
    %at5 = arith.addi %k, %c5 : index
    %v5 = memref.load %x[%at5] : memref<?xf32, 1>
    %a5 = arith.addf %a4, %v5 : f32
    %at6 = arith.addi %k, %c6 : index
    %v6 = memref.load %x[%at6] : memref<?xf32, 1>
    %a6 = arith.addf %a5, %v6 : f32
    %at7 = arith.addi %k, %c7 : index
    %v7 = memref.load %x[%at7] : memref<?xf32, 1>
    %a7 = arith.addf %a6, %v7 : f32
    %at8 = arith.addi %k, %c8 : index
    %v8 = memref.load %x[%at8] : memref<?xf32, 1>
    %a8 = arith.addf %a7, %v8 : f32
    scf.yield %a8 : f32
  }
  memref.store %s, %y[%c0] : memref<?xf32, 1>
  %t = scf.for %k = %c0 to %c64 step %c1 iter_args(%before = %zero) -> (f32) {
    %at1 = arith.addi %k, %c1 : index
    %v1 = memref.load %x[%at1] : memref<?xf32, 1>
    %a1 = arith.addf %before, %v1 : f32
    %at2 = arith.addi %k, %c2 : index
    %v2 = memref.load %x[%at2] : memref<?xf32, 1>
    %a2 = arith.addf %a1, %v2 : f32
    %at3 = arith.addi %k, %c3 : index
    %v3 = memref.load %x[%at3] : memref<?xf32, 1>
    %a3 = arith.addf %a2, %v3 : f32
    %at4 = arith.addi %k, %c4 : index
    %v4 = memref.load %x[%at4] : memref<?xf32, 1>
    %a4 = arith.addf %a3, %v4 : f32
    %at5 = arith.addi %k, %c5 : index
    %v5 = memref.load %x[%at5] : memref<?xf32, 1>
    %a5 = arith.addf %a4, %v5 : f32
    %at6 = arith.addi %k, %c6 : index
    %v6 = memref.load %x[%at6] : memref<?xf32, 1>
    %a6 = arith.addf %a5, %v6 : f32
    %at7 = arith.addi %k, %c7 : index
    %v7 = memref.load %x[%at7] : memref<?xf32, 1>
    %a7 = arith.addf %a6, %v7 : f32
    %at8 = arith.addi %k, %c8 : index
    %v8 = memref.load %x[%at8] : memref<?xf32, 1>
    %a8 = arith.addf %a7, %v8 : f32
    scf.yield %a8 : f32
  }
  %u = arith.subf %t, %s : f32
  memref.store %u, %y[%c1] : memref<?xf32, 1>
}

// -----

// Places differ by what they read.
cu.kernel @tensors attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %c64 step %c1 {
    %at1 = arith.addi %k, %c1 : index
    %v1 = memref.load %x[%at1] : memref<?xf32, 1>
    memref.store %v1, %x[%k] : memref<?xf32, 1>
    %at2 = arith.addi %k, %c2 : index
    %v2 = memref.load %x[%at2] : memref<?xf32, 1>
    memref.store %v2, %x[%k] : memref<?xf32, 1>
    %at3 = arith.addi %k, %c3 : index
    %v3 = memref.load %x[%at3] : memref<?xf32, 1>
    memref.store %v3, %x[%k] : memref<?xf32, 1>
    %at4 = arith.addi %k, %c4 : index
    %v4 = memref.load %x[%at4] : memref<?xf32, 1>
    memref.store %v4, %x[%k] : memref<?xf32, 1>
    %at5 = arith.addi %k, %c5 : index
    %v5 = memref.load %x[%at5] : memref<?xf32, 1>
    memref.store %v5, %x[%k] : memref<?xf32, 1>
  }
  scf.for %k = %c0 to %c64 step %c1 {
    %at1 = arith.addi %k, %c1 : index
    %v1 = memref.load %y[%at1] : memref<?xf32, 1>
    memref.store %v1, %y[%k] : memref<?xf32, 1>
    %at2 = arith.addi %k, %c2 : index
    %v2 = memref.load %y[%at2] : memref<?xf32, 1>
    memref.store %v2, %y[%k] : memref<?xf32, 1>
    %at3 = arith.addi %k, %c3 : index
    %v3 = memref.load %y[%at3] : memref<?xf32, 1>
    memref.store %v3, %y[%k] : memref<?xf32, 1>
    %at4 = arith.addi %k, %c4 : index
    %v4 = memref.load %y[%at4] : memref<?xf32, 1>
    memref.store %v4, %y[%k] : memref<?xf32, 1>
    %at5 = arith.addi %k, %c5 : index
    %v5 = memref.load %y[%at5] : memref<?xf32, 1>
    memref.store %v5, %y[%k] : memref<?xf32, 1>
  }
}

// -----

// They differ by a number that only an inner loop knows.
cu.kernel @inner_numbers attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %s = cu.shared 0 : memref<256xf32, 3>
  %t = cu.shared 1024 : memref<256xf32, 3>
  %u = cu.shared 2048 : memref<256xf32, 3>
  scf.for %k = %c0 to %c64 step %c1 {
    scf.for %e = %c0 to %c4 step %c1 {
      %at = arith.divsi %e, %c4 : index
      %to = arith.addi %at, %c8 : index
      %v = memref.load %x[%k] : memref<?xf32, 1>
      %w = memref.load %y[%k] : memref<?xf32, 1>
      memref.store %v, %s[%to] : memref<256xf32, 3>
      memref.store %w, %t[%to] : memref<256xf32, 3>
      memref.store %v, %u[%to] : memref<256xf32, 3>
      memref.store %w, %u[%to] : memref<256xf32, 3>
    }
  }
  scf.for %k = %c0 to %c64 step %c1 {
    scf.for %e = %c0 to %c4 step %c1 {
      %at = arith.muli %e, %c4 : index
      %to = arith.addi %at, %c8 : index
      %v = memref.load %x[%k] : memref<?xf32, 1>
      %w = memref.load %y[%k] : memref<?xf32, 1>
      memref.store %v, %s[%to] : memref<256xf32, 3>
      memref.store %w, %t[%to] : memref<256xf32, 3>
      memref.store %v, %u[%to] : memref<256xf32, 3>
      memref.store %w, %u[%to] : memref<256xf32, 3>
    }
  }
}

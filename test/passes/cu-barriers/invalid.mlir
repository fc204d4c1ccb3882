// RUN: kernelc-opt --cu-barriers %s -split-input-file -verify-diagnostics

cu.kernel @half_a_warp attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 0 : i64} {
  %t = cu.thread_id
  %c16 = arith.constant 16 : index
  %some = arith.cmpi slt, %t, %c16 : index
  scf.if %some {
    // expected-error @+1 {{stands where not all threads of a warp arrive together}}
    cu.sync
  }
}

// -----

cu.kernel @rounds_of_their_own attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 0 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %t step %c1 {
    // expected-error @+1 {{stands where not all threads of a warp arrive together}}
    cu.sync
  }
}

// -----

// The 16 threads would have to meet between the two, and the others with them.
cu.kernel @no_place attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 128 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  %s = cu.shared 0 : memref<32xf32, 3>
  %some = arith.cmpi slt, %t, %c16 : index
  scf.if %some {
    // expected-note @+1 {{the other access}}
    memref.store %v, %s[%t] : memref<32xf32, 3>
    // expected-error @+1 {{meets in shared memory what another thread does, where no barrier can stand between}}
    %w = memref.load %s[%c0] : memref<32xf32, 3>
  }
}

// -----

// Who takes the one branch runs beside who takes the other.
cu.kernel @both_sides attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 128 : i64} {
  %t = cu.thread_id
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant 1.0 : f32
  %s = cu.shared 0 : memref<32xf32, 3>
  %some = arith.cmpi slt, %t, %c64 : index
  scf.if %some {
    // expected-note @+1 {{the other access}}
    memref.store %v, %s[%c0] : memref<32xf32, 3>
  } else {
    // expected-error @+1 {{meets in shared memory what another thread does, where no barrier can stand between}}
    %w = memref.load %s[%c0] : memref<32xf32, 3>
  }
}

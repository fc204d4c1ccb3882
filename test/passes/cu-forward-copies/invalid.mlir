// An access has one index per dim of its memref: the pass reads no other.
// RUN: kernelc-opt --cu-forward-copies %s -verify-diagnostics
cu.kernel @flat attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
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
  // expected-error @+1 {{'memref.load' op incorrect number of indices for load, expected 1 but got 0}}
  %e = memref.load %r[] : memref<4xf32, 5>
  memref.store %e, %x[%c0] : memref<?xf32, 1>
}

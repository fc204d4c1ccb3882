// A choice by what is no condition: the verifier says so before the pass runs.
// RUN: kernelc-opt --cu-fold-decided %s -verify-diagnostics
cu.kernel @choice attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %byte = arith.constant 1 : i8
  // expected-error @+1 {{'arith.select' op operand #0 must be bool-like}}
  %v = "arith.select"(%byte, %one, %one) : (i8, f32, f32) -> f32
  memref.store %v, %x[%c0] : memref<?xf32, 1>
}

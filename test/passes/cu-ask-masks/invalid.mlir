// Loops of a kernel count by indices: the pass takes no other.
// RUN: kernelc-opt --cu-ask-masks %s -verify-diagnostics
cu.kernel @words attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  %from = arith.constant 0 : i32
  %to = arith.constant 8 : i32
  %by = arith.constant 1 : i32
  // expected-error @+1 {{must count by an index}}
  scf.for %i = %from to %to step %by : i32 {
    memref.store %v, %x[%c0] : memref<?xf32, 1>
  }
}

// Parts must agree in what the pass reads off their loops, which is refused where it is wrong.
// RUN: kernelc-opt --cu-roll %s -verify-diagnostics
cu.kernel @mark attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (16)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  // expected-error @+1 {{[C8] has the mark 'cu.unroll' with -1 : i64; it must be a unit or a positive number}}
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  } {cu.unroll = -1 : i64}
}

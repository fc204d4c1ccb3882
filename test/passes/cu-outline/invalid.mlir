// A lambda is written by the pass, and nobody passes one on.
// RUN: kernelc-opt --cu-outline %s -verify-diagnostics
cu.kernel @passed_on attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (4096)>}, {source = 1 : i64, shape = affine_map<() -> (4096)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 4096 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %c4 = arith.constant 4 : index
  %t = cu.thread_id
  %f = cu.lambda {
  ^bb0(%i: index):
    cu.sync
  } : (index) -> ()
  %is = arith.cmpi eq, %t, %c4 : index
  // expected-error @+1 {{[C9] takes a lambda, and is no cu.call of it}}
  %g = arith.select %is, %f, %f : (index) -> ()
}

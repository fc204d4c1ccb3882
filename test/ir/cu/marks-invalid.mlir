// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// Marks where they belong.
cu.kernel @do_nothing attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id {cu.most = 127 : i64, cu.narrow}
  %a = arith.constant 1 : index
  scf.for %k = %a to %t step %a {
  } {cu.unroll}
  scf.for %k = %a to %t step %a {
  } {cu.unroll = 4 : i64, cu.narrow, cu.tiles}
}
// -----
// On an op of another dialect, too.
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  // expected-error @+1 {{[C8] has the mark 'cu.tiles', which is for loops}}
  %a = arith.constant {cu.tiles} 1 : index
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  // expected-error @+1 {{[C8] has no attribute 'narrow', and there is no such mark; ir/cu/Marks.h lists marks}}
  %t = cu.thread_id {narrow}
}

// RUN: kernelc-opt %s -o %t.before && kernelc-opt --cu-unroll %s -o %t.after && diff %t.before %t.after

// Rounds that only the launch counts; short ones over tiles; what is marked.
cu.kernel @do_nothing attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  } {cu.tiles}
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  } {cu.unroll = 2 : i64}
}

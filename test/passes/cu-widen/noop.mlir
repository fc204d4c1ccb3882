// RUN: kernelc-opt %s -o %t.before && kernelc-opt --cu-widen="fits32=true" %s -o %t.after && diff %t.before %t.after

// An offset: its low 32 bits are all that is asked for.
cu.kernel @do_nothing attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0, s0)>}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  %row = arith.muli %b, %n : index
  %at = arith.addi %row, %b : index
  memref.store %v, %x[%at] : memref<?xf32, 1>
}

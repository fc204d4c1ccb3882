// RUN: kernelc-opt %s -o %t.before && kernelc-opt --cu-narrow %s -o %t.after && diff %t.before %t.after

// Sizes and what they are multiplied with may be anything.
cu.kernel @do_nothing attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}, {size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 0 : i64, index_bits = 64 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %c2 = arith.constant 2 : index
  %v = memref.load %x[%n] : memref<?xf32, 1>
  %at = arith.muli %n, %c2 : index
  memref.store %v, %x[%at] : memref<?xf32, 1>
}

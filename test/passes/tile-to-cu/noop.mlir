// RUN: kernelc-opt %s -o %t.before && kernelc-opt --tile-to-cu %s -o %t.after && diff %t.before %t.after

// What is cu already stays.
cu.kernel @do_nothing attributes {sizes = ["N"], arg_sources = [{source = 0 : i64, shape = affine_map<()[s0] -> (s0)>}],
    grid = affine_map<()[s0] -> (s0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %i = cu.block_id
  %v = memref.load %x[%i] : memref<?xf32, 1>
  memref.store %v, %x[%i] : memref<?xf32, 1>
}

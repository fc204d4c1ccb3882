// RUN: kernelc-opt %s -o %t.before && kernelc-opt --cu-join %s -o %t.after && diff %t.before %t.after

// Kernels that stand alone.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (8)>}],
    grid = affine_map<() -> (8)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  memref.store %v, %x[%b] : memref<?xf32, 1>
}
cu.kernel @alone attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (8)>}],
    grid = affine_map<() -> (8)>, threads = 64 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  memref.store %v, %x[%b] : memref<?xf32, 1>
}

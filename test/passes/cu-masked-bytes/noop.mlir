// RUN: kernelc-opt %s -split-input-file -o %t.before && kernelc-opt --cu-masked-bytes -split-input-file %s -o %t.after && diff %t.before %t.after

// All bits of a byte are more than a byte as an address of words; so is a sign.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (64)>}, {source = 1 : i64, shape = affine_map<() -> (64)>}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 640 : i64} {
^bb0(%x: memref<?xi8, 1>, %y: memref<?xi32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %table = cu.shared 0 : memref<160xi32, 3>
  %four = arith.constant 4 : i8
  %d = memref.alloca() : memref<16xi8, 5>
  cu.copy %x[%c0] to %d[%c0] count 16 : memref<?xi8, 1> to memref<16xi8, 5>
  scf.for %i = %c0 to %c16 step %c1 {
    %b = memref.load %d[%i] : memref<16xi8, 5>
    %j = arith.index_castui %b : i8 to index
    %u = memref.load %table[%j] : memref<160xi32, 3>
    memref.store %u, %y[%i] : memref<?xi32, 1>
    %s = arith.shrsi %b, %four : i8
    %k = arith.index_castui %s : i8 to index
    %v = memref.load %table[%k] : memref<160xi32, 3>
    memref.store %v, %y[%i] : memref<?xi32, 1>
  }
}

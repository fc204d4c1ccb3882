// RUN: kernelc-opt %s -o %t.before && kernelc-opt --cu-barriers %s -o %t.after && diff %t.before %t.after

// Arrays that no two threads share: private ones, and parts that are one thread's.
cu.kernel @do_nothing attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (512)>}],
    grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 2048 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %t = cu.thread_id
  %r = memref.alloca() : memref<4xf32, 5>
  %s = cu.shared 0 : memref<512xf32, 3>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %r[%i] : memref<4xf32, 5>
    memref.store %v, %r[%i] : memref<4xf32, 5>
    %row = arith.muli %i, %c128 : index
    %at = arith.addi %row, %t : index
    memref.store %v, %s[%at] : memref<512xf32, 3>
  }
}

// An update in place reads and writes one tensor: what is there stays.
cu.kernel @global attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (1)>}],
    grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 0 : i64} {
^bb0(%x: memref<?xf32, 1>):
  %c0 = arith.constant 0 : index
  %t = cu.thread_id
  %v = memref.load %x[%c0] : memref<?xf32, 1>
  cu.sync
  %first = arith.cmpi eq, %t, %c0 : index
  scf.if %first {
    memref.store %v, %x[%c0] : memref<?xf32, 1>
  }
}

// One warpgroup's own barrier belongs to a protocol.
cu.kernel @named attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 256 : i64, shared_bytes = 0 : i64} {
  %g = cu.warpgroup
  %c2 = arith.constant 2 : index
  %id = arith.addi %g, %c2 : index
  cu.named_sync %id threads 128
}

// Nothing at all, as a kernel over no elements has.
cu.kernel @empty attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (0)>, threads = 32 : i64, shared_bytes = 0 : i64} {
}

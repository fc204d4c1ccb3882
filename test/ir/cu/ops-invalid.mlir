// RUN: kernelc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{[C1] has 2 arguments and 1 arg_sources}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
// expected-error @+1 {{[C1] arg_sources has no dictionary for argument 1, or one whose size is none of the kernel's}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 1 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
// expected-error @+1 {{[C1] arg_sources has no dictionary for argument 1, or one whose size is none of the kernel's}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 0 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
// expected-error @+1 {{[C2] grid must go from the kernel's 1 sizes to one number}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<() -> (4)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
// expected-error @+1 {{[C3] has 0 as threads, which are 1 to 1024}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 0 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
// expected-error @+1 {{[C3] has -1 as shared_bytes, which are not negative}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = -1 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
// expected-error @+1 {{[C3] has indices of 16 bits; CUDA C has 32 and 64}}
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, index_bits = 16 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C4] makes 'memref<?xf32, 3>'; arrays have known, positive extents}}
  %a = cu.shared 0 : memref<?xf32, 3>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C4] makes 'memref<0xf32, 5>'; arrays have known, positive extents}}
  %a = memref.alloca() : memref<0xf32, 5>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C4] makes memory; cu.shared and memref.alloca do}}
  %a = memref.alloc() : memref<4xf32>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C4] computes with 'i128'; integers have at most 64 bits}}
  %a = arith.constant 0 : i128
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  %a = memref.alloca() : memref<4xf32, 5>
  // expected-error @+1 {{[C5] names an element by 2 indices of 'memref<128xf32, 3>'}}
  cu.copy %s[%t, %t] to %a[%t] count 1 : memref<128xf32, 3> to memref<4xf32, 5>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  %a = memref.alloca() : memref<4xf32, 5>
  // expected-error @+1 {{[C6] has 0 as count, which is 1 to 128}}
  cu.copy %s[%t] to %a[%t] count 0 : memref<128xf32, 3> to memref<4xf32, 5>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C6] has 32 as mask, which is 0 to 31}}
  %a = cu.shuffle_xor %v, 32 : f32
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C6] has -1 as pending, which is 0 to 1024}}
  cu.cp_async_wait -1
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  %a = arith.constant 1 : i32
  // expected-error @+1 {{[C7] must count by an index}}
  scf.for %k = %a to %a step %a : i32 {
  }
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  // expected-error @+1 {{[C7] is no control flow of a cu.kernel: that is scf.for, scf.if, lambdas and searches}}
  scf.execute_region {
    scf.yield
  }
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  // expected-error @+1 {{[C8] has the mark 'cu.most' with "all"; it must be a number}}
  %t = cu.thread_id {cu.most = "all"}
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = ["N"], arg_sources = [{source = 0 : i64}, {div = 1 : i64, max = -1 : i64, size = 0 : i64}],
    grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xf32, 1>, %n: index):
  %t = cu.thread_id
  %s = cu.shared 0 : memref<128xf32, 3>
  %v = memref.load %x[%t] : memref<?xf32, 1>
  %a = arith.constant 1 : index
  // expected-error @+1 {{[C8] has the mark 'cu.unroll' with -1 : i64; it must be a unit or a positive number}}
  scf.for %k = %a to %t step %a {
  } {cu.unroll = -1 : i64}
  memref.store %v, %s[%t] : memref<128xf32, 3>
}
// -----
cu.kernel @f attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 512 : i64} {
  // expected-error @+1 {{[C9] takes the arguments of its type, which are numbers, and gives nothing}}
  %f = cu.lambda {
  ^bb0(%i: index):
    cu.sync
  } : (f32) -> ()
}
// -----
cu.kernel @f attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 512 : i64} {
  %t = cu.thread_id
  %f = cu.lambda {
  ^bb0(%i: index):
    cu.sync
  } : (index) -> ()
  %b = cu.block_id
  %is = arith.cmpi eq, %t, %b : index
  // expected-error @+1 {{[C9] takes a lambda, and is no cu.call of it}}
  %g = arith.select %is, %f, %f : (index) -> ()
}
// -----
cu.kernel @f attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 128 : i64, shared_bytes = 512 : i64} {
  %t = cu.thread_id
  %f = cu.lambda {
  ^bb0(%i: index):
    cu.sync
  } : (index) -> ()
  // expected-error @+1 {{number of operands and types do not match: got 0 operands and 1 types}}
  cu.call %f() : (index) -> ()
}
// -----
cu.kernel @f attributes {sizes = [], arg_sources = [{source = 0 : i64}],
    grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 512 : i64} {
^bb0(%x: memref<?xi32, 1>):
  %c0 = arith.constant 0 : index
  %s = cu.shared 0 : memref<128xi32, 3>
  %d = memref.alloca() : memref<16xi8, 5>
  // expected-error @+1 {{[C6]}}
  %v = cu.look %s[%c0] by %d[%c0] shift 8 mask 1 : memref<128xi32, 3> by memref<16xi8, 5> -> i32
  memref.store %v, %x[%c0] : memref<?xi32, 1>
}

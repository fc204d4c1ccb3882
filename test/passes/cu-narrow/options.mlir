// The guard of the variant bounds every tensor: no single value needs a mark.
// RUN: kernelc-opt --cu-narrow="fits32=true" %s | FileCheck %s
// CHECK: cu.kernel @guarded
// CHECK-SAME: index_bits = 32
// CHECK-NOT: cu.narrow
cu.kernel @guarded attributes {sizes = ["N"], arg_sources = [{size = 0 : i64}], grid = affine_map<()[s0] -> (s0)>, threads = 128 : i64, shared_bytes = 0 : i64} {
^bb0(%n: index):
  %t = cu.thread_id
  %at = arith.muli %t, %n : index
}

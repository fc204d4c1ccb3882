// RUN: not kernelc-opt --cu-widen="fits32=perhaps" %s 2>&1 | FileCheck %s
// CHECK: fits32
cu.kernel @k attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64} {
}

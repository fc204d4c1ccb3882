// RUN: kernelc-opt --cu-unroll %s -verify-diagnostics

// The budget is the target's.
// expected-error @+1 {{has the unknown target 'sm_20'}}
cu.kernel @no_such_target attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64, target = "sm_20"} {
}

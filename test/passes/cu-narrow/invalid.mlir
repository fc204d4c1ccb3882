// RUN: kernelc-opt --cu-narrow %s -verify-diagnostics

// expected-error @+1 {{has indices of 16 bits; CUDA C has 32 and 64}}
cu.kernel @shorts attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (1)>, threads = 32 : i64, shared_bytes = 0 : i64, index_bits = 16 : i64} {
}

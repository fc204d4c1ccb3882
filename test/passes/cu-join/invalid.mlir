// RUN: kernelc-opt --cu-join -split-input-file -verify-diagnostics %s

// expected-error @+1 {{stands beside a kernel before it, and there is none}}
cu.kernel @first attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (8)>, threads = 32 : i64, shared_bytes = 0 : i64, beside = 1 : i64} {
}

// -----

cu.kernel @narrow attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (8)>, threads = 32 : i64, shared_bytes = 0 : i64} {
}
// expected-error @+1 {{cannot be joined to 'narrow': threads, blocks a multiprocessor, cluster, persistence, index width, sizes and target must be the same}}
cu.kernel @wide attributes {sizes = [], arg_sources = [], grid = affine_map<() -> (8)>, threads = 64 : i64, shared_bytes = 0 : i64, beside = 1 : i64} {
}

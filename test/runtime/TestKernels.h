// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small artifacts for the runtime's tests, as the compiler would build them.
#pragma once

#include "runtime/LoadedKernel.h"
#include "support/Artifact.h"
#include "support/TensorView.h"

namespace kernelc::testing_kernels {

/// def axpy(a: f32, x: f32[N]) -> (y: f32[N]); block of 256, one element a thread.
inline Kernel axpy() {
  Kernel k;
  k.name = "axpy";
  k.loc = {"axpy.kc", 1, 5};
  SizeExpr n = SizeExpr::size(0);
  k.params = {{"a", ElementType::f32, ParamKind::Scalar, {}, {"axpy.kc", 1, 10}},
              {"x", ElementType::f32, ParamKind::Input, {n}, {"axpy.kc", 1, 18}},
              {"y", ElementType::f32, ParamKind::Output, {n}, {"axpy.kc", 1, 34}}};
  k.sizes = {{"N", 1, 0, 1, 0, {}}};
  Variant v;
  v.name = "default";
  v.target = "sm_90a";
  v.params.resize(3);
  Launch l;
  l.entry = "kc_axpy";
  l.grid = ceilDiv(n, 256);
  l.block = 256;
  l.args = {ScalarArg{0}, PointerArg{1, {}}, PointerArg{2, {}}, SizeArg{n, 32}};
  v.launches = {l};
  k.variants = {v};
  return k;
}

/// def mm(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]), with tensor maps, a
/// cluster, dynamic shared memory, a workspace and a second launch;
/// variant 0 wants inner unit stride and 16-byte alignment, variant 1 takes all.
inline Kernel matmul() {
  Kernel k;
  k.name = "mm";
  k.loc = {"mm.kc", 3, 5};
  SizeExpr m = SizeExpr::size(0), kk = SizeExpr::size(1), n = SizeExpr::size(2);
  k.params = {{"x", ElementType::bf16, ParamKind::Input, {m, kk}, {"mm.kc", 3, 8}},
              {"w", ElementType::bf16, ParamKind::Input, {n, kk}, {"mm.kc", 3, 23}},
              {"y", ElementType::bf16, ParamKind::Output, {m, n}, {"mm.kc", 3, 44}}};
  k.sizes = {{"M", 0, 0, 1, 0, {}}, {"K", 0, 1, 1, 0, {}}, {"N", 1, 0, 1, 0, {}}};
  k.requires_ = {{SizeExpr::binary(SizeTerm::Eq, SizeExpr::binary(SizeTerm::Mod, kk, 8), 0), "K % 8 == 0", {"mm.kc", 4, 3}}};
  auto map = [&](int p, SizeExpr inner, SizeExpr outer) {
    TensorMapArg a;
    a.base.param = p;
    a.dims = {inner, outer};
    a.strides = {SizeExpr::stride(p, 0) * 2};
    a.box = {64, 128};
    a.elementStrides = {1, 1};
    a.swizzleBytes = 128;
    return a;
  };
  Variant fast;
  fast.name = "tma";
  fast.target = "sm_90a";
  fast.params = {{LayoutClass::InnerUnit, 16}, {LayoutClass::InnerUnit, 16}, {LayoutClass::Dense, 16}};
  fast.workspaceBytes = SizeExpr(256) + m * n * 4;
  Launch l;
  l.entry = "kc_mm";
  l.grid = ceilDiv(m, 128) * ceilDiv(n, 128) * 2;
  l.block = 384;
  l.cluster = 2;
  l.sharedBytes = 200000;
  l.args = {map(0, kk, m), map(1, kk, n), PointerArg{-1, 256}, PointerArg{-1, 0}, SizeArg{m, 32}, SizeArg{n, 64}};
  Launch reduce;
  reduce.entry = "kc_mm_reduce";
  reduce.grid = SizeExpr::binary(SizeTerm::Min, SizeExpr::smCount(), ceilDiv(m * n, 256));
  reduce.block = 256;
  reduce.args = {PointerArg{-1, 256}, PointerArg{2, {}}};
  fast.launches = {l, reduce};
  Variant general;
  general.name = "general";
  general.target = "sm_90a";
  general.params = {{LayoutClass::Any, 1}, {LayoutClass::Any, 1}, {LayoutClass::Any, 1}};
  Launch g;
  g.entry = "kc_mm_general";
  g.grid = m;
  g.block = 128;
  g.args = {PointerArg{0, {}}, PointerArg{1, {}}, PointerArg{2, {}}, SizeArg{SizeExpr::stride(0, 0), 64},
            SizeArg{SizeExpr::stride(0, 1), 64}};
  general.launches = {g};
  k.variants = {fast, general};
  return k;
}

inline DeviceTensor tensor(void *data, ElementType type, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  if (strides.empty())
    strides = denseStrides(shape);
  return {data, type, shape, strides, 0};
}
/// A tensor at a made-up address; nothing may touch it.
inline DeviceTensor tensorAt(uintptr_t address, ElementType type, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  return tensor(reinterpret_cast<void *>(address), type, std::move(shape), std::move(strides));
}

} // namespace kernelc::testing_kernels

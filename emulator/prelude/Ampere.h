// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 6: cp.async, ldmatrix, stmatrix and mma.sync.
#define KCE_CP(n)                                                                                                                          \
  KCE_INLINE void kc_cp_async_##n(void *d, const void *s) { kce::call<&kce::Api::cpAsync>()(d, s, n, n); }                                 \
  KCE_INLINE void kc_cp_async_zfill_##n(void *d, const void *s, int bytes) { kce::call<&kce::Api::cpAsync>()(d, s, n, (unsigned)bytes); }
KCE_CP(4)
KCE_CP(8)
KCE_CP(16)
#undef KCE_CP
KCE_INLINE void kc_cp_async_commit() { kce::call<&kce::Api::cpAsyncCommit>()(); }
template <int N> KCE_INLINE void kc_cp_async_wait() { kce::call<&kce::Api::cpAsyncWait>()(N); }

namespace kce {
KCE_INLINE void matrix(WarpOp op, int count, bool transposed, const void *row, void *regs) {
  WarpArgs a;
  a.count = count, a.transposed = transposed, a.row = (void *)row, a.d = regs;
  kce::call<&kce::Api::warp>()(op, &a);
}
KCE_INLINE void mma(MmaKind kind, void *d, const void *a, const void *b) {
  WarpArgs w;
  w.mode = (unsigned)kind, w.d = d, w.a = a, w.b = b;
  kce::call<&kce::Api::warp>()(WarpOp::Mma, &w);
}
} // namespace kce
#define KCE_MATRIX(n)                                                                                                                      \
  KCE_INLINE void kc_ldmatrix_x##n(unsigned *r, const void *row) { kce::matrix(kce::WarpOp::LdMatrix, n, false, row, r); }                 \
  KCE_INLINE void kc_ldmatrix_x##n##_trans(unsigned *r, const void *row) { kce::matrix(kce::WarpOp::LdMatrix, n, true, row, r); }          \
  KCE_INLINE void kc_stmatrix_x##n(void *row, const unsigned *r) { kce::matrix(kce::WarpOp::StMatrix, n, false, row, (void *)r); }         \
  KCE_INLINE void kc_stmatrix_x##n##_trans(void *row, const unsigned *r) { kce::matrix(kce::WarpOp::StMatrix, n, true, row, (void *)r); }
KCE_MATRIX(1)
KCE_MATRIX(2)
KCE_MATRIX(4)
#undef KCE_MATRIX
#define KCE_MMA(name, kind, D, na, nb)                                                                                                     \
  KCE_INLINE void name(D *d, const unsigned *a, const unsigned *b) { kce::mma(kce::MmaKind::kind, d, a, b); }
KCE_MMA(kc_mma_m16n8k16_bf16, Bf16K16, float, 4, 2)
KCE_MMA(kc_mma_m16n8k16_f16, F16K16, float, 4, 2)
KCE_MMA(kc_mma_m16n8k8_f16, F16K8, float, 2, 1)
KCE_MMA(kc_mma_m16n8k8_tf32, Tf32K8, float, 4, 2)
KCE_MMA(kc_mma_m16n8k32_s8, S8K32, int, 4, 2)
KCE_MMA(kc_mma_m16n8k32_u8, U8K32, int, 4, 2)
KCE_MMA(kc_mma_m16n8k32_s8u8, S8U8K32, int, 4, 2)
KCE_MMA(kc_mma_m16n8k32_u8s8, U8S8K32, int, 4, 2)
KCE_MMA(kc_mma_m16n8k32_e4m3, E4M3K32, float, 4, 2)
KCE_MMA(kc_mma_m16n8k32_e5m2, E5M2K32, float, 4, 2)
KCE_MMA(kc_mma_m16n8k32_e4m3e5m2, E4M3E5M2K32, float, 4, 2)
KCE_MMA(kc_mma_m16n8k32_e5m2e4m3, E5M2E4M3K32, float, 4, 2)
#undef KCE_MMA

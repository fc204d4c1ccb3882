// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 7: mbarriers, TMA, clusters, wgmma.
struct alignas(64) kc_tensor_map {
  unsigned long long words[16];
};
KCE_INLINE void kc_mbarrier_init(void *bar, unsigned count) { kce::call<&kce::Api::mbarrierInit>()(bar, count); }
KCE_INLINE void kc_mbarrier_arrive(void *bar) { kce::call<&kce::Api::mbarrierArrive>()(bar, -1, 0, false); }
KCE_INLINE void kc_mbarrier_expect_tx(void *bar, unsigned bytes) { kce::call<&kce::Api::mbarrierArrive>()(bar, -1, bytes, true); }
KCE_INLINE void kc_mbarrier_arrive_cluster(void *bar, unsigned cta) { kce::call<&kce::Api::mbarrierArrive>()(bar, (int)cta, 0, false); }
KCE_INLINE void kc_cp_async_arrive(void *bar) { kce::call<&kce::Api::cpAsyncArrive>()(bar); }
KCE_INLINE void kc_mbarrier_wait(void *bar, unsigned parity) { kce::call<&kce::Api::mbarrierWait>()(bar, parity); }
KCE_INLINE void kc_fence_mbarrier_init() { kce::call<&kce::Api::mbarrierInitFence>()(); }
KCE_INLINE void kc_prefetch_tensor_map(const kc_tensor_map *) {}
KCE_INLINE void kc_prefetch_bulk(const void *p, unsigned bytes) { kce::call<&kce::Api::bulkPrefetch>()(p, bytes); }

// Shared memory of other blocks of the cluster.
#define KCE_CLUSTER(name, T)                                                                                                               \
  KCE_INLINE T kc_cluster_load_##name(const void *p, unsigned block) {                                                                     \
    return *(const T *)kce::call<&kce::Api::mapShared>()((void *)p, block);                                                                \
  }                                                                                                                                        \
  KCE_INLINE void kc_cluster_store_##name(void *p, T v, unsigned block) { *(T *)kce::call<&kce::Api::mapShared>()(p, block) = v; }         \
  KCE_INLINE void kc_store_async_##name(void *to, T v, void *bar, unsigned block) {                                                        \
    kce::call<&kce::Api::storeAsync>()(to, &v, sizeof(T), bar, block);                                                                     \
  }
KCE_CLUSTER(f32, float)
KCE_CLUSTER(f64, double)
KCE_CLUSTER(i32, int)
KCE_CLUSTER(i64, long long)
KCE_CLUSTER(f32x4, float4)
#undef KCE_CLUSTER

#define KCE_TMA(rank, PARAMS, ...)                                                                                                         \
  KCE_INLINE void kc_tma_load_##rank##d(void *dst, const kc_tensor_map *map, PARAMS, void *bar) {                                          \
    const int c[] = {__VA_ARGS__};                                                                                                         \
    kce::call<&kce::Api::tmaLoad>()(rank, dst, map, c, bar, 0);                                                                            \
  }                                                                                                                                        \
  KCE_INLINE void kc_tma_load_multicast_##rank##d(void *dst, const kc_tensor_map *map, PARAMS, void *bar, unsigned mask) {                 \
    const int c[] = {__VA_ARGS__};                                                                                                         \
    kce::call<&kce::Api::tmaLoad>()(rank, dst, map, c, bar, mask);                                                                         \
  }                                                                                                                                        \
  KCE_INLINE void kc_tma_load_streaming_##rank##d(void *dst, const kc_tensor_map *map, PARAMS, void *bar) {                                \
    kc_tma_load_##rank##d(dst, map, __VA_ARGS__, bar);                                                                                     \
  }                                                                                                                                        \
  KCE_INLINE void kc_tma_load_multicast_streaming_##rank##d(void *dst, const kc_tensor_map *map, PARAMS, void *bar, unsigned mask) {       \
    kc_tma_load_multicast_##rank##d(dst, map, __VA_ARGS__, bar, mask);                                                                     \
  }                                                                                                                                        \
  KCE_INLINE void kc_tma_prefetch_##rank##d(const kc_tensor_map *map, PARAMS) {                                                            \
    const int c[] = {__VA_ARGS__};                                                                                                         \
    kce::call<&kce::Api::tmaPrefetch>()(rank, map, c);                                                                                     \
  }                                                                                                                                        \
  KCE_INLINE void kc_tma_store_##rank##d(const kc_tensor_map *map, const void *src, PARAMS) {                                              \
    const int c[] = {__VA_ARGS__};                                                                                                         \
    kce::call<&kce::Api::tmaStore>()(rank, map, src, c, false);                                                                            \
  }                                                                                                                                        \
  KCE_INLINE void kc_tma_reduce_add_##rank##d(const kc_tensor_map *map, const void *src, PARAMS) {                                         \
    const int c[] = {__VA_ARGS__};                                                                                                         \
    kce::call<&kce::Api::tmaStore>()(rank, map, src, c, true);                                                                             \
  }
#define KCE_COMMA ,
KCE_TMA(1, int c0, c0)
KCE_TMA(2, int c0 KCE_COMMA int c1, c0, c1)
KCE_TMA(3, int c0 KCE_COMMA int c1 KCE_COMMA int c2, c0, c1, c2)
KCE_TMA(4, int c0 KCE_COMMA int c1 KCE_COMMA int c2 KCE_COMMA int c3, c0, c1, c2, c3)
KCE_TMA(5, int c0 KCE_COMMA int c1 KCE_COMMA int c2 KCE_COMMA int c3 KCE_COMMA int c4, c0, c1, c2, c3, c4)
#undef KCE_COMMA
#undef KCE_TMA
KCE_INLINE void kc_tma_commit() { kce::call<&kce::Api::tmaCommit>()(); }
template <int N> KCE_INLINE void kc_tma_wait_read() { kce::call<&kce::Api::tmaWait>()(N, true); }
template <int N> KCE_INLINE void kc_tma_wait() { kce::call<&kce::Api::tmaWait>()(N, false); }

// The bits are the device's; addresses are offsets in the block's shared memory.
KCE_INLINE unsigned long long kc_smem_desc(const void *p, int lboBytes, int sboBytes, int swizzleBytes) {
  unsigned long long offset = (unsigned long long)((const unsigned char *)p - kce::sharedBase());
  unsigned long long mode = swizzleBytes == 128 ? 1 : swizzleBytes == 64 ? 2 : swizzleBytes == 32 ? 3 : 0;
  return ((offset & 0x3ffff) >> 4) | ((unsigned long long)((lboBytes & 0x3ffff) >> 4) << 16) |
         ((unsigned long long)((sboBytes & 0x3ffff) >> 4) << 32) | (mode << 62);
}
KCE_INLINE unsigned long long kc_desc_advance(unsigned long long desc, int bytes) { return desc + (bytes >> 4); }
KCE_INLINE void kc_wgmma_fence() { kce::call<&kce::Api::wgmmaFence>()(); }
KCE_INLINE void kc_wgmma_commit() { kce::call<&kce::Api::wgmmaCommit>()(); }
template <int N> KCE_INLINE void kc_wgmma_wait() { kce::call<&kce::Api::wgmmaWait>()(N); }
namespace kce {
KCE_INLINE void wgmma(WgmmaKind a, WgmmaKind b, int n, int ta, int tb, void *d, const unsigned *registersA, unsigned long long descA,
                      unsigned long long descB, int accumulate) {
  WgmmaArgs w;
  w.typeA = a, w.typeB = b, w.n = n, w.transposeA = ta, w.transposeB = tb, w.accumulate = accumulate;
  w.d = d, w.registersA = registersA, w.descA = descA, w.descB = descB;
  kce::call<&kce::Api::wgmma>()(&w);
}
/// So many products with A in registers, each with b so many bytes behind that of the one before.
KCE_INLINE void wgmmas(int products, int stepB, WgmmaKind a, WgmmaKind b, int n, int tb, void *d, const unsigned *registersA,
                       unsigned long long descB, int accumulate) {
  for (int i = 0; i < products; ++i)
    wgmma(a, b, n, 0, tb, d, registersA + 4 * i, 0, kc_desc_advance(descB, i * stepB), i ? 1 : accumulate);
}
} // namespace kce
// The second name is the one with A in registers.
#define KCE_WGMMA16(name, kind)                                                                                                            \
  template <int N, int TA, int TB>                                                                                                         \
  KCE_INLINE void kc_wgmma_##name(float *d, unsigned long long descA, unsigned long long descB, int accumulate) {                          \
    kce::wgmma(kce::WgmmaKind::kind, kce::WgmmaKind::kind, N, TA, TB, d, nullptr, descA, descB, accumulate);                               \
  }                                                                                                                                        \
  template <int N, int TB, int Products = 1, int StepB = 0>                                                                                \
  KCE_INLINE void kc_wgmma_rs_##name(float *d, const unsigned *a, unsigned long long descB, int accumulate) {                              \
    kce::wgmmas(Products, StepB, kce::WgmmaKind::kind, kce::WgmmaKind::kind, N, TB, d, a, descB, accumulate);                              \
  }
KCE_WGMMA16(bf16, Bf16)
KCE_WGMMA16(f16, F16)
#undef KCE_WGMMA16
#define KCE_WGMMA(name, kindA, kindB, D)                                                                                                   \
  template <int N> KCE_INLINE void kc_wgmma_##name(D *d, unsigned long long descA, unsigned long long descB, int accumulate) {             \
    kce::wgmma(kce::WgmmaKind::kindA, kce::WgmmaKind::kindB, N, 0, 0, d, nullptr, descA, descB, accumulate);                               \
  }                                                                                                                                        \
  template <int N, int Products = 1, int StepB = 0>                                                                                        \
  KCE_INLINE void kc_wgmma_rs_##name(D *d, const unsigned *a, unsigned long long descB, int accumulate) {                                  \
    kce::wgmmas(Products, StepB, kce::WgmmaKind::kindA, kce::WgmmaKind::kindB, N, 0, d, a, descB, accumulate);                             \
  }
KCE_WGMMA(tf32, Tf32, Tf32, float)
KCE_WGMMA(e4m3, E4M3, E4M3, float)
KCE_WGMMA(e5m2, E5M2, E5M2, float)
KCE_WGMMA(e4m3e5m2, E4M3, E5M2, float)
KCE_WGMMA(e5m2e4m3, E5M2, E4M3, float)
KCE_WGMMA(s8, S8, S8, int)
KCE_WGMMA(u8, U8, U8, int)
KCE_WGMMA(s8u8, S8, U8, int)
KCE_WGMMA(u8s8, U8, S8, int)
#undef KCE_WGMMA
template <int N> KCE_INLINE void kc_setmaxnreg_inc() { kce::call<&kce::Api::setMaxRegisters>()(N, true); }
template <int N> KCE_INLINE void kc_setmaxnreg_dec() { kce::call<&kce::Api::setMaxRegisters>()(N, false); }

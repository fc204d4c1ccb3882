// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 1: CUDA keywords, vector types and built-in variables.
#define __global__ __attribute__((visibility("hidden"), used))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __CUDA_ARCH__ 0
#define KCE_PLAIN __attribute__((no_sanitize("thread"), no_sanitize("coverage")))
#define KCE_INLINE static inline __attribute__((always_inline))
#define KCE_CONVERGENT __attribute__((convergent))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

namespace kce {
__attribute__((visibility("hidden"))) inline State state;
__attribute__((visibility("hidden"))) inline const Api *apiTable;
// The values behind these stay the same for the life of a fiber, so a compiler
// may keep them across a switch: hence const, and out of sight of the checks.
template <auto F> KCE_PLAIN __attribute__((const, noinline)) auto call() { return apiTable->*F; }
KCE_PLAIN __attribute__((const, noinline)) inline Dim3 threadIndex() { return state.thread; }
KCE_PLAIN __attribute__((const, noinline)) inline Dim3 blockIndex() { return state.block; }
KCE_PLAIN __attribute__((const, noinline)) inline Dim3 blockExtent() { return state.blockDim; }
KCE_PLAIN __attribute__((const, noinline)) inline Dim3 gridExtent() { return state.gridDim; }
KCE_PLAIN __attribute__((const, noinline)) inline unsigned char *sharedBase() { return state.shared; }
KCE_PLAIN __attribute__((const, noinline)) inline unsigned clusterRank() { return state.clusterRank; }
KCE_PLAIN __attribute__((const, noinline)) inline unsigned clusterSize() { return state.clusterSize; }
} // namespace kce

#define threadIdx (kce::threadIndex())
#define blockIdx (kce::blockIndex())
#define blockDim (kce::blockExtent())
#define gridDim (kce::gridExtent())
#define warpSize 32
KCE_INLINE unsigned char *kc_shared() { return kce::sharedBase(); }

// Vectors are ext_vector types so that the compiler sees one access, as the
// device does. Those of three elements are structs: CUDA packs them.
#define KCE_VECTOR(T, name)                                                                                                                \
  typedef T name##2 __attribute__((ext_vector_type(2)));                                                                                   \
  typedef T name##4 __attribute__((ext_vector_type(4)));                                                                                   \
  struct name##3 { T x, y, z; };                                                                                                           \
  struct name##1 { T x; };                                                                                                                 \
  KCE_INLINE name##1 make_##name##1(T x) { return name##1 {x}; }                                                                           \
  KCE_INLINE name##2 make_##name##2(T x, T y) { return name##2 {x, y}; }                                                                   \
  KCE_INLINE name##3 make_##name##3(T x, T y, T z) { return name##3 {x, y, z}; }                                                           \
  KCE_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return name##4 {x, y, z, w}; }
KCE_VECTOR(signed char, char)
KCE_VECTOR(unsigned char, uchar)
KCE_VECTOR(short, short)
KCE_VECTOR(unsigned short, ushort)
KCE_VECTOR(int, int)
KCE_VECTOR(unsigned, uint)
KCE_VECTOR(long, long)
KCE_VECTOR(unsigned long, ulong)
KCE_VECTOR(long long, longlong)
KCE_VECTOR(unsigned long long, ulonglong)
KCE_VECTOR(float, float)
KCE_VECTOR(double, double)
#undef KCE_VECTOR
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

template <class T> KCE_INLINE T __ldg(const T *p) { return *p; }
template <class T> KCE_INLINE T __ldcg(const T *p) { return *p; }
template <class T> KCE_INLINE T __ldca(const T *p) { return *p; }
template <class T> KCE_INLINE T __ldcs(const T *p) { return *p; }
template <class T> KCE_INLINE T __ldlu(const T *p) { return *p; }
template <class T> KCE_INLINE void __stcg(T *p, T v) { *p = v; }
template <class T> KCE_INLINE void __stcs(T *p, T v) { *p = v; }
template <class T> KCE_INLINE void __stwt(T *p, T v) { *p = v; }
template <class T> KCE_INLINE void __stwb(T *p, T v) { *p = v; }

KCE_INLINE void __trap() { kce::call<&kce::Api::trap>()("__trap()"); }
KCE_INLINE void __nanosleep(unsigned) { kce::call<&kce::Api::yield>()(); }
KCE_INLINE long long clock64() { return (long long)kce::call<&kce::Api::clock>()(); }
KCE_INLINE unsigned long __cvta_generic_to_shared(const void *p) { return (unsigned long)((const unsigned char *)p - kce::sharedBase()); }
KCE_INLINE unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define assert(c) ((c) ? (void)0 : kce::call<&kce::Api::trap>()("assertion failed: " #c))

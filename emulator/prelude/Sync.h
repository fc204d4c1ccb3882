// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 4: barriers, warp operations, fences and atomics.
// Switches of a text whose mutants share a build (Mutate.h).
KCE_PLAIN inline unsigned kce_switch(unsigned i) { return kce::state.switches ? kce::state.switches[i] : 0; }
/// With switch 2: altered would be something else here.
KCE_PLAIN inline void kce_note(unsigned i) {
  if (kce_switch(i) == 2)
    kce::state.switches[i] = 4;
}
KCE_PLAIN inline bool kce_kept(unsigned i) {
  kce_note(i);
  return kce_switch(i) != 1;
}
KCE_PLAIN inline bool kce_forced(unsigned i) { return kce_switch(i) & 1; }
KCE_PLAIN inline bool kce_mask(unsigned i, bool condition) {
  if (!condition)
    kce_note(i);
  return condition;
}
/// With switch 3 or 5, a register that was set although the condition did not hold gets garbage: NaN in every type of
/// floats and large integers, or small ones.
template <class T> KCE_PLAIN inline void kce_spoil(unsigned i, bool condition, T &value) {
  const unsigned how = kce_switch(i);
  if (condition || (how != 3 && how != 5))
    return;
  const unsigned char garbage[2] = {(unsigned char)(how == 3 ? 0xff : 1), (unsigned char)(how == 3 ? 0x7f : 0)};
  for (unsigned at = 0; at < sizeof(T); at++)
    __builtin_memcpy((char *)&value + at, &garbage[at % 2], 1);
}
template <class T, class V> KCE_PLAIN __attribute__((noinline)) void kc_write_once(T *to, V value) {
  kce::seen(to, sizeof(T), kce::kWrite | kce::kOnce, __builtin_return_address(0));
  *to = value;
}
namespace kce {
template <class T> KCE_INLINE unsigned long long toBits(T v) {
  unsigned long long r = 0;
  static_assert(sizeof(T) <= 8);
  __builtin_memcpy(&r, &v, sizeof(T));
  return r;
}
template <class T> KCE_INLINE T fromBits(unsigned long long v) {
  T r;
  __builtin_memcpy(&r, &v, sizeof(T));
  return r;
}
template <class T> KCE_INLINE T shuffle(ShuffleMode mode, unsigned mask, T v, int lane, int width) {
  WarpArgs a;
  a.mask = mask, a.mode = (unsigned)mode, a.value = toBits(v), a.lane = lane, a.width = width;
  kce::call<&kce::Api::warp>()(WarpOp::Shuffle, &a);
  return fromBits<T>(a.value);
}
KCE_INLINE unsigned vote(VoteMode mode, unsigned mask, int predicate) {
  WarpArgs a;
  a.mask = mask, a.mode = (unsigned)mode, a.value = predicate != 0;
  kce::call<&kce::Api::warp>()(WarpOp::Vote, &a);
  return (unsigned)a.value;
}
template <class T> KCE_INLINE T reduce(ReduceMode mode, unsigned mask, T v) {
  WarpArgs a;
  a.mask = mask, a.mode = (unsigned)mode, a.value = toBits(v), a.isSigned = (T)-1 < (T)0;
  kce::call<&kce::Api::warp>()(WarpOp::Reduce, &a);
  return fromBits<T>(a.value);
}
template <class T> struct KindOf;
template <> struct KindOf<int> {
  static constexpr ScalarKind kind = ScalarKind::I32;
};
template <> struct KindOf<unsigned> {
  static constexpr ScalarKind kind = ScalarKind::U32;
};
template <> struct KindOf<long> {
  static constexpr ScalarKind kind = ScalarKind::I64;
};
template <> struct KindOf<long long> {
  static constexpr ScalarKind kind = ScalarKind::I64;
};
template <> struct KindOf<unsigned long> {
  static constexpr ScalarKind kind = ScalarKind::U64;
};
template <> struct KindOf<unsigned long long> {
  static constexpr ScalarKind kind = ScalarKind::U64;
};
template <> struct KindOf<float> {
  static constexpr ScalarKind kind = ScalarKind::F32;
};
template <> struct KindOf<double> {
  static constexpr ScalarKind kind = ScalarKind::F64;
};
template <class T> struct Same {
  typedef T type;
};
template <class T> KCE_INLINE T atomic(AtomicOp op, T *p, T v, T compare = T(), Order order = Order::Relaxed) {
  return fromBits<T>(kce::call<&kce::Api::atomic>()(op, KindOf<T>::kind, (void *)p, toBits(v), toBits(compare), order));
}
} // namespace kce

KCE_INLINE void __syncthreads() { kce::call<&kce::Api::barrier>()(0, 0, true); }
KCE_INLINE int __syncthreads_and(int p) { return (int)kce::call<&kce::Api::barrierVote>()(0, p); }
KCE_INLINE int __syncthreads_or(int p) { return (int)kce::call<&kce::Api::barrierVote>()(1, p); }
KCE_INLINE int __syncthreads_count(int p) { return (int)kce::call<&kce::Api::barrierVote>()(2, p); }
KCE_INLINE void kc_bar_sync(int id, int threads) { kce::call<&kce::Api::barrier>()(id, threads, true); }
KCE_INLINE void kc_bar_arrive(int id, int threads) { kce::call<&kce::Api::barrier>()(id, threads, false); }
KCE_INLINE void kc_cluster_sync() { kce::call<&kce::Api::clusterBarrier>()(true, true); }
KCE_INLINE void kc_cluster_arrive() { kce::call<&kce::Api::clusterBarrier>()(true, false); }
KCE_INLINE void kc_cluster_wait() { kce::call<&kce::Api::clusterBarrier>()(false, true); }
KCE_INLINE unsigned kc_cluster_rank() { return kce::clusterRank(); }
KCE_INLINE unsigned kc_cluster_size() { return kce::clusterSize(); }
template <class T> KCE_INLINE T *kc_map_shared(T *p, unsigned cta) { return (T *)kce::call<&kce::Api::mapShared>()((void *)p, cta); }
KCE_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
  kce::WarpArgs a;
  a.mask = mask;
  kce::call<&kce::Api::warp>()(kce::WarpOp::Sync, &a);
}
template <class T> KCE_INLINE T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
  return kce::shuffle(kce::ShuffleMode::Index, mask, v, lane, width);
}
template <class T> KCE_INLINE T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  return kce::shuffle(kce::ShuffleMode::Up, mask, v, (int)delta, width);
}
template <class T> KCE_INLINE T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  return kce::shuffle(kce::ShuffleMode::Down, mask, v, (int)delta, width);
}
template <class T> KCE_INLINE T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32) {
  return kce::shuffle(kce::ShuffleMode::Xor, mask, v, lanes, width);
}
KCE_INLINE int __any_sync(unsigned mask, int p) { return (int)kce::vote(kce::VoteMode::Any, mask, p); }
KCE_INLINE int __all_sync(unsigned mask, int p) { return (int)kce::vote(kce::VoteMode::All, mask, p); }
KCE_INLINE unsigned __ballot_sync(unsigned mask, int p) { return kce::vote(kce::VoteMode::Ballot, mask, p); }
template <class T> KCE_INLINE unsigned __match_any_sync(unsigned mask, T v) {
  kce::WarpArgs a;
  a.mask = mask, a.value = kce::toBits(v);
  kce::call<&kce::Api::warp>()(kce::WarpOp::Match, &a);
  return (unsigned)a.value;
}
#define KCE_REDUCE(name, mode, T)                                                                                                          \
  KCE_INLINE T name(unsigned mask, T v) { return kce::reduce(kce::ReduceMode::mode, mask, v); }
KCE_REDUCE(__reduce_add_sync, Add, int)
KCE_REDUCE(__reduce_add_sync, Add, unsigned)
KCE_REDUCE(__reduce_min_sync, Min, int)
KCE_REDUCE(__reduce_min_sync, Min, unsigned)
KCE_REDUCE(__reduce_max_sync, Max, int)
KCE_REDUCE(__reduce_max_sync, Max, unsigned)
KCE_REDUCE(__reduce_and_sync, And, unsigned)
KCE_REDUCE(__reduce_or_sync, Or, unsigned)
KCE_REDUCE(__reduce_xor_sync, Xor, unsigned)
#undef KCE_REDUCE

KCE_INLINE void __threadfence_block() { kce::call<&kce::Api::fence>()(0); }
KCE_INLINE void __threadfence() { kce::call<&kce::Api::fence>()(1); }
KCE_INLINE void __threadfence_system() { kce::call<&kce::Api::fence>()(2); }
KCE_INLINE void kc_fence_proxy_async() { kce::call<&kce::Api::fence>()(3); }

#define KCE_ATOMIC(name, op)                                                                                                               \
  template <class T> KCE_INLINE T name(T *p, typename kce::Same<T>::type v) { return kce::atomic(kce::AtomicOp::op, p, v); }
KCE_ATOMIC(atomicAdd, Add)
KCE_ATOMIC(atomicMin, Min)
KCE_ATOMIC(atomicMax, Max)
KCE_ATOMIC(atomicAnd, And)
KCE_ATOMIC(atomicOr, Or)
KCE_ATOMIC(atomicXor, Xor)
KCE_ATOMIC(atomicExch, Exchange)
KCE_ATOMIC(atomicInc, Inc)
KCE_ATOMIC(atomicDec, Dec)
#undef KCE_ATOMIC
template <class T> KCE_INLINE T atomicSub(T *p, typename kce::Same<T>::type v) { return kce::atomic(kce::AtomicOp::Add, p, (T)(0 - v)); }
KCE_INLINE int kc_load_acquire_i32(const int *p) { return kce::atomic(kce::AtomicOp::Load, (int *)p, 0, 0, kce::Order::Acquire); }
KCE_INLINE void kc_store_release_i32(int *p, int v) { kce::atomic(kce::AtomicOp::Store, p, v, 0, kce::Order::Release); }
KCE_INLINE int kc_add_acq_rel_i32(int *p, int v) { return kce::atomic(kce::AtomicOp::Add, p, v, 0, kce::Order::AcquireRelease); }
KCE_INLINE void kc_tell(long long *p, int v) { kce::atomic(kce::AtomicOp::Store, p, (long long)(1ull << 32 | (unsigned)v)); }
KCE_INLINE int kc_ask(const long long *p) {
  long long word;
  do
    word = kce::atomic(kce::AtomicOp::Load, (long long *)p, 0ll);
  while (word >> 32 == 0);
  return (int)word;
}
#define KCE_REDUCE_WORDS(count)                                                                                                            \
  KCE_INLINE void kc_reduce_add_f32x##count(float *p, const float *v) {                                                                    \
    if ((unsigned long)p % (4 * count))                                                                                                    \
      kce::call<&kce::Api::trap>()("red.v" #count ".f32 at an address that is no multiple of its bytes");                                  \
    for (int i = 0; i < count; i++)                                                                                                        \
      kce::atomic(kce::AtomicOp::Add, p + i, v[i]);                                                                                        \
  }
KCE_REDUCE_WORDS(2)
KCE_REDUCE_WORDS(4)
#undef KCE_REDUCE_WORDS
#define KCE_REDUCE_HALVES(name, kind)                                                                                                      \
  KCE_INLINE void kc_reduce_add_##name(unsigned *p, unsigned v) {                                                                          \
    kce::call<&kce::Api::atomic>()(kce::AtomicOp::Add, kce::ScalarKind::kind, p, v, 0, kce::Order::Relaxed);                               \
  }
KCE_REDUCE_HALVES(f16x2, F16x2)
KCE_REDUCE_HALVES(bf16x2, Bf16x2)
#undef KCE_REDUCE_HALVES
template <class T> KCE_INLINE T atomicCAS(T *p, typename kce::Same<T>::type compare, typename kce::Same<T>::type v) {
  return kce::atomic(kce::AtomicOp::CompareSwap, p, v, compare);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 2: what the compiler's instrumentation calls. The names are
// ThreadSanitizer's, SanitizerCoverage's and UndefinedBehaviorSanitizer's; their runtimes are not linked.
#define KCE_HOOK KCE_PLAIN __attribute__((visibility("hidden"), used))
namespace kce {
KCE_PLAIN __attribute__((always_inline)) inline void seen(const void *p, unsigned long size, unsigned access, const void *pc) {
  if ((unsigned long)p - state.stackLow < state.stackSize && !state.watchStack)
    return;
  if (apiTable)
    apiTable->access(p, size, access, pc);
}
} // namespace kce
#define KCE_ONE(name, size, access)                                                                                                        \
  KCE_HOOK void name(void *p) { kce::seen(p, size, access, __builtin_return_address(0)); }
#define KCE_SIZE(size)                                                                                                                     \
  KCE_ONE(__tsan_read##size, size, kce::kRead)                                                                                             \
  KCE_ONE(__tsan_write##size, size, kce::kWrite)                                                                                           \
  KCE_ONE(__tsan_read_write##size, size, kce::kWrite)                                                                                      \
  KCE_ONE(__tsan_volatile_read##size, size, kce::kRead | kce::kVolatile)                                                                   \
  KCE_ONE(__tsan_volatile_write##size, size, kce::kWrite | kce::kVolatile)                                                                 \
  KCE_ONE(__tsan_unaligned_read##size, size, kce::kRead | kce::kAnyAlignment)                                                              \
  KCE_ONE(__tsan_unaligned_write##size, size, kce::kWrite | kce::kAnyAlignment)                                                            \
  KCE_ONE(__tsan_unaligned_read_write##size, size, kce::kWrite | kce::kAnyAlignment)                                                       \
  KCE_ONE(__tsan_unaligned_volatile_read##size, size, kce::kRead | kce::kVolatile | kce::kAnyAlignment)                                    \
  KCE_ONE(__tsan_unaligned_volatile_write##size, size, kce::kWrite | kce::kVolatile | kce::kAnyAlignment)
extern "C" {
KCE_SIZE(1)
KCE_SIZE(2)
KCE_SIZE(4)
KCE_SIZE(8)
KCE_SIZE(16)
KCE_HOOK void __tsan_init() {}
KCE_HOOK void *__tsan_memcpy(void *d, const void *s, unsigned long n) {
  kce::seen(s, n, kce::kRead | kce::kAnyAlignment, __builtin_return_address(0));
  kce::seen(d, n, kce::kWrite | kce::kAnyAlignment, __builtin_return_address(0));
  return __builtin_memcpy(d, s, n);
}
KCE_HOOK void *__tsan_memmove(void *d, const void *s, unsigned long n) {
  kce::seen(s, n, kce::kRead | kce::kAnyAlignment, __builtin_return_address(0));
  kce::seen(d, n, kce::kWrite | kce::kAnyAlignment, __builtin_return_address(0));
  return __builtin_memmove(d, s, n);
}
KCE_HOOK void *__tsan_memset(void *d, int v, unsigned long n) {
  kce::seen(d, n, kce::kWrite | kce::kAnyAlignment, __builtin_return_address(0));
  return __builtin_memset(d, v, n);
}
KCE_HOOK void __sanitizer_cov_trace_pc_guard_init(unsigned *, unsigned *) {}
KCE_HOOK void __sanitizer_cov_trace_pc_guard(unsigned *) {
  if (__builtin_expect(--kce::state.steps < 0, 0) && kce::apiTable)
    kce::apiTable->outOfSteps(__builtin_return_address(0));
}
// The CPU would end the process.
KCE_HOOK __attribute__((noreturn)) void __ubsan_handle_divrem_overflow_abort(void *, void *, void *) {
  if (kce::apiTable)
    kce::apiTable->divisionByZero(__builtin_return_address(0));
  __builtin_trap();
}
}
#undef KCE_SIZE
#undef KCE_ONE

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 8: how the emulator calls an entry with packed arguments.
// Stands before the text; the table itself follows the text.
namespace kce {
template <int... I> struct Indices {};
template <class T, T... I> struct FromSequence {
  typedef Indices<(int)I...> type;
};
template <auto F> struct Thunk;
template <class... A, void (*F)(A...)> struct Thunk<F> {
  static constexpr unsigned sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
  template <int... I> KCE_PLAIN static void expand(void **args, Indices<I...>) { F(*(A *)args[I]...); }
  KCE_PLAIN static void call(void **args) { expand(args, typename __make_integer_seq<FromSequence, int, sizeof...(A)>::type{}); }
  static constexpr Entry entry(const char *name, unsigned maxThreads, unsigned minBlocks) {
    return {name, &call, sizeof...(A), sizes, maxThreads, minBlocks};
  }
};
} // namespace kce
#pragma GCC poison asm __asm__ __asm __shared__ __constant__

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/CompileUnits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kText[] = R"(// kernel two of two.kc:1, for sm_90a
// assumes nothing of its sizes

// Types that travel as their bits.
typedef unsigned long long mbarrier;
typedef unsigned short bf16;

#ifndef KC_HOST
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void kc_fence(int id) { asm volatile("// kc_unused }" ::"r"(id) : "memory"); }
struct alignas(64) kc_tensor_map {
  unsigned long long words[16];
};
template <int Count> static __device__ __forceinline__ void kc_hold(float *d) { // don't
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int N, int TransposeA>
__device__ void kc_wgmma(float *d, unsigned a);
static __device__ __forceinline__ float kc_widen(bf16 v) {
  return kc_address(&v);
}
template <> __device__ __forceinline__ void kc_wgmma<8, 0>(float *d, unsigned a) { d[0] = '}'; }
template <> __device__ __forceinline__ void kc_wgmma<16, 0>(float *d, unsigned a) { d[0] = '{'; }
#else
template <int Count> static inline void kc_hold(float *) { host(); }
#endif
static __device__ __forceinline__ int kc_warp() { return 0; }

// schedule: tile i 8
#line 3 "two.kc"
extern "C" __global__ void __launch_bounds__(128, 1) kc_two_first(const bf16 *__restrict__ x,
    const __grid_constant__ kc_tensor_map map) {
  // kc_warp() only in a comment
  kc_wgmma<16, 0>(d, kc_widen(x[0]));
}

// schedule: tile i 4
#line 4 "two.kc"
extern "C" __global__ void __launch_bounds__(64) kc_two(float *__restrict__ y) {
  if (kc_warp()) {
    kc_hold<2>(y);
  }
}
)";

Variant variantOf(std::string text, std::vector<std::string> entries) {
  Variant v;
  v.cudaText = std::move(text);
  for (std::string &e : entries) {
    v.launches.emplace_back();
    v.launches.back().entry = std::move(e);
  }
  return v;
}

TEST(CompileUnits, HoldWhatAnEntryUses) {
  Variant v = variantOf(kText, {"kc_two_first", "kc_two", "kc_two_first"});
  std::vector<CompileUnit> units = compileUnitsOf(v);
  ASSERT_EQ(units.size(), 2u) << "launches share an entry";
  EXPECT_THAT(units[0].entries, ElementsAre("kc_two_first"));
  EXPECT_EQ(units[0].text, R"(typedef unsigned short bf16;
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct alignas(64) kc_tensor_map {
  unsigned long long words[16];
};
template <int N, int TransposeA>
__device__ void kc_wgmma(float *d, unsigned a);
static __device__ __forceinline__ float kc_widen(bf16 v) {
  return kc_address(&v);
}
template <> __device__ __forceinline__ void kc_wgmma<16, 0>(float *d, unsigned a) { d[0] = '{'; }

// schedule: tile i 8
#line 3 "two.kc"
extern "C" __global__ void __launch_bounds__(128, 1) kc_two_first(const bf16 *__restrict__ x,
    const __grid_constant__ kc_tensor_map map) {
  // kc_warp() only in a comment
  kc_wgmma<16, 0>(d, kc_widen(x[0]));
}
)");
  EXPECT_THAT(units[1].text, HasSubstr("kc_warp() { return 0; }"));
  EXPECT_THAT(units[1].text, HasSubstr("asm volatile(\"\" : \"+f\"(d[i])::\"memory\")"));
  for (const char *other : {"host()", "bf16", "kc_two_first", "kc_fence", "KC_HOST", "mbarrier"})
    EXPECT_THAT(units[1].text, Not(HasSubstr(other)));
}

TEST(CompileUnits, OtherEntriesLeaveAUnitAsItIs) {
  std::string text = kText, changed = text;
  size_t first = text.find("// schedule: tile i 8"), second = text.find("// schedule: tile i 4");
  changed.erase(first, second - first);
  changed.replace(changed.find("\n#ifndef"), 1, "\ntypedef signed char i8;\n");
  EXPECT_EQ(compileUnitsOf(variantOf(text, {"kc_two"}))[0].text, compileUnitsOf(variantOf(changed, {"kc_two"}))[0].text);
}

TEST(CompileUnits, ATextOfSomebodyElseIsOneUnit) {
  std::string text = "#define ENTRY(name) extern \"C\" __global__ void name() {}\nENTRY(a)\nENTRY(b)\n";
  std::vector<CompileUnit> units = compileUnitsOf(variantOf(text, {"a", "b"}));
  ASSERT_EQ(units.size(), 1u);
  EXPECT_THAT(units[0].entries, ElementsAre("a", "b"));
  EXPECT_EQ(units[0].text, text);
}

TEST(CompileUnits, CodeIsWithoutCommentsAndMarks) {
  EXPECT_EQ(codeOf("// a\n#line 3 \"a.kc\"\nint x;\n\n  // b\n#line 9 \"b.kc\"\n#pragma unroll\n  y(); // kept\n"),
            "int x;\n#pragma unroll\n  y(); // kept\n");
}

} // namespace
} // namespace kernelc

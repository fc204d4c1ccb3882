// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of f8: on the units that take them, promoted to f32 in time or not, with scales of
// blocks, rows and the whole; and what else scales of partial sums serve.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

std::string product(const std::string &a, const std::string &b, const std::string &bShape = "[N, K]",
                    const std::string &bRead = "b[j, k]") {
  return "def m(a: " + a + "[M, K], b: " + b + bShape + ") -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * " + bRead + ") }";
}

Case with(const std::string &text, int64_t m, int64_t n, int64_t k, const std::string &expect, const std::string &target = "sm_90a") {
  Case c{text, {{"M", m}, {"N", n}, {"K", k}}, "", target};
  c.expect = expect;
  return c;
}

TEST(Float8, EveryMixOnWarpgroups) {
  for (const char *a : {"f8e4m3", "f8e5m2"})
    for (const char *b : {"f8e4m3", "f8e5m2"})
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 256, 128}, {136, 264, 144}, {200, 104, 1040}}) {
        std::string x = a + 2, y = b + 2;
        EXPECT_EQ(runCase(with(product(a, b), m, n, k, "kc_wgmma_" + (x == y ? x : x + y) + "<")), "") << a << b << m;
      }
}

// Written down in the other operand's type, where a copy pays.
TEST(Float8, BesideWiderOperands) {
  for (const char *wide : {"bf16", "f16"})
    for (const char *narrow : {"f8e4m3", "f8e5m2"}) {
      if (std::string(wide) == "f16" && std::string(narrow) == "f8e5m2")
        continue; // a product of f32: neither holds the other
      Case c = with(product(wide, narrow), 72, 136, 80, "kc_wgmma_");
      c.schedule = R"([{"kernel": "m", "copies": "always"}])";
      EXPECT_EQ(runCase(c), "") << wide << narrow;
    }
}

TEST(Float8, EveryMixOnMmaSync) {
  for (const char *a : {"f8e4m3", "f8e5m2"})
    for (const char *b : {"f8e4m3", "f8e5m2"}) {
      std::string x = a + 2, y = b + 2;
      EXPECT_EQ(runCase(with(product(a, b), 72, 80, 208, "kc_mma_m16n8k32_" + (x == y ? x : x + y), "sm_89")), "") << a << b;
      // Both across K, and one.
      EXPECT_EQ(runCase(with(product(a, b, "[K, N]", "b[k, j]"), 72, 80, 208, "kc_mma_m16n8k32_", "sm_89")), "") << a << b;
    }
  EXPECT_EQ(runCase(with(product("f8e4m3", "f8e5m2"), 72, 80, 208, "kc_mma_m16n8k16_f16", "sm_80")), "");
}

// The sums of a tile of K leave the unit's accumulators; with accumulate = fast they stay.
TEST(Float8, Promotion) {
  Case promoted = with(product("f8e4m3", "f8e4m3"), 256, 256, 512, "promote 128");
  EXPECT_EQ(runCase(promoted), "");
  EXPECT_NE(cudaTextOf(promoted).find("kc_wgmma_wait<0>();\n        kc_wgmma_hold<"), std::string::npos);
  Case fast = with(product("f8e4m3", "f8e4m3"), 256, 256, 512, "kc_wgmma_e4m3<");
  fast.precision = "accumulate=fast";
  EXPECT_EQ(runCase(fast), "");
  EXPECT_EQ(cudaTextOf(fast).find("promote"), std::string::npos);
}

TEST(Float8, PromotionIsForAnyTypeToAsk) {
  Case c = with(product("bf16", "bf16"), 136, 136, 200, "promote 64");
  c.schedule = R"([{"kernel": "m", "launch": "c", "promote": 64, "stages": 4, "warps": 8, "tiles": {"i": 128, "j": 128}}])";
  EXPECT_EQ(runCase(c), "");
  c.target = "sm_80";
  c.expect = "promote 32";
  c.schedule = R"([{"kernel": "m", "launch": "c", "promote": 32, "warps": 8, "min_blocks": 1}])";
  EXPECT_EQ(runCase(c), "");
}

TEST(Float8, SchedulesThatHoldTooMuch) {
  Case c = with(product("f8e4m3", "f8e4m3"), 256, 256, 512, "");
  for (auto [fields, wanted] :
       {std::pair<const char *, const char *>{R"("promote": 0)",
                                              "they leave its accumulators after at most 128 (promote), unless accumulate = fast"},
        {R"("promote": 256)", "they leave its accumulators after at most 128"},
        {R"("tiles": {"k": 256})", "sums tiles of 256 products, more than its accumulators may hold (promote 128)"}}) {
    c.schedule = std::string(R"([{"kernel": "m", "launch": "c", )") + fields + "}]";
    EXPECT_NE(cudaTextOf(c).find(wanted), std::string::npos) << fields << "\n" << cudaTextOf(c).substr(0, 400);
  }
}

// f32 operands that a policy rounds.
TEST(Float8, Policy) {
  for (const char *policy : {"contract=f8e4m3", "contract=f8e5m2,accumulate=fast"}) {
    Case c = with(product("f32", "f32"), 72, 80, 208, "kc_f32_to_e", "sm_90a");
    c.precision = policy;
    EXPECT_EQ(runCase(c), "") << policy;
  }
  // Long products: written down in f8 first.
  Case c = with(product("f32", "f32"), 1408, 1280, 1344, "");
  c.precision = "contract=f8e4m3";
  std::string text = cudaTextOf(c);
  for (const char *wanted : {"kc_m_a_rows(", "kc_m_b_rows(", "kc_wgmma_e4m3<128>"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
}

// Not contiguous along K: transposed first, where the product is long.
TEST(Float8, LongProductsAcrossK) {
  std::string text = cudaTextOf(with(product("f8e4m3", "f8e5m2", "[K, N]", "b[k, j]"), 1408, 1280, 1344, ""));
  EXPECT_NE(text.find("kc_m_b_rows("), std::string::npos);
  EXPECT_EQ(text.find("kc_m_a_rows("), std::string::npos);
  EXPECT_NE(text.find("kc_wgmma_e4m3e5m2<"), std::string::npos);
}

const char *kBlocks =
    R"(def m(a: f8e4m3[M, K], sa: f32[M, K // 128], b: f8e4m3[N, K], sb: f32[(N + 127) // 128, K // 128]) -> (c: bf16[M, N]) {
  require K % 128 == 0
  c[i, j] = sum[k](a[i, k] * sa[i, k // 128] * b[j, k] * sb[j // 128, k // 128])
})";

TEST(Float8, BlockScales) {
  for (const char *target : {"sm_90a", "sm_89", "sm_80"})
    EXPECT_EQ(runCase(with(kBlocks, 136, 272, 384, std::string(target) == "sm_90a" ? "kc_wgmma_e4m3<" : "kc_mma_", target)), "") << target;
  Case fast = with(kBlocks, 136, 272, 384, "kc_wgmma_e4m3<");
  fast.precision = "accumulate=fast"; // partial sums all the same: they are scaled
  EXPECT_EQ(runCase(fast), "");
  Case tile = with(kBlocks, 136, 272, 384, "");
  tile.schedule = R"([{"kernel": "m", "launch": "c", "tiles": {"k_high": 2}}])";
  EXPECT_NE(cudaTextOf(tile).find("a scale depends on 'k_high', so that its tile is 1, not 2"), std::string::npos)
      << cudaTextOf(tile).substr(0, 300);
}

// Scales of rows, columns and of everything, inside the sum or behind it.
TEST(Float8, ScalesOfRowsAndTheWhole) {
  for (const char *e :
       {"sum[k](a[i, k] * b[j, k] * sr[i] * s[])", "sum[k](s[] * (a[i, k] * sr[i]) * b[j, k])", "sr[i] * s[] * sum[k](a[i, k] * b[j, k])"})
    EXPECT_EQ(runCase(with(std::string("def m(a: f8e4m3[M, K], sr: f32[M], b: f8e4m3[N, K], s: f32[]) -> (c: bf16[M, N]) { c[i, j] = ") +
                               e + " }",
                           136, 136, 272, "kc_wgmma_e4m3<")),
              "")
        << e;
}

// Scales of groups of weights: the product is one of bf16, which holds i8 exactly.
TEST(Float8, GroupScalesOfOtherTypes) {
  const char *text = R"(def m(x: bf16[M, K], w: i8[N, K], s: f32[N, K // 64]) -> (y: bf16[M, N]) {
  require K % 64 == 0
  y[i, j] = sum[k](x[i, k] * (f32(w[j, k]) * s[j, k // 64]))
})";
  EXPECT_EQ(runCase(with(text, 72, 136, 192, "kc_wgmma_rs_bf16<", "sm_90a")), ""); // the weights from registers
  EXPECT_EQ(runCase(with(text, 72, 136, 192, "kc_mma_m16n8k16_bf16", "sm_80")), "");
}

// K in several digits, convolutions, batches.
TEST(Float8, OtherContractions) {
  const char *batched =
      "def m(a: f8e5m2[B, M, K], b: f8e4m3[B, N, K]) -> (c: f16[B, M, N]) { c[n, i, j] = sum[k](a[n, i, k] * b[n, j, k]) }";
  Case c{batched, {{"B", 3}, {"M", 72}, {"N", 136}, {"K", 208}}, "", "sm_90a"};
  c.expect = "kc_wgmma_e5m2e4m3<";
  EXPECT_EQ(runCase(c), "");
  const char *conv = R"(def m(x: f8e4m3[N, H, W, C], f: f8e4m3[O, 3, 3, C]) -> (y: bf16[N, H, W, O]) {
  y[n, h, w, o] = sum[r, s, c](x.pad(0)[n, h + r - 1, w + s - 1, c] * f[o, r, s, c])
})";
  Case d{conv, {{"N", 2}, {"H", 7}, {"W", 16}, {"C", 144}, {"O", 64}}, "", "sm_90a"};
  d.expect = "kc_wgmma_e4m3<";
  EXPECT_EQ(runCase(d), "");
}

} // namespace
} // namespace kernelc::test

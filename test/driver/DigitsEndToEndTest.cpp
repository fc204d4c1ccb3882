// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices written as digits of sizes (te-split), from text to a checked result: groups of
// query heads that share keys, in all the places an index may stand.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

constexpr char kScores[] = R"(def scores(q: f16[H, S, D], k: f16[G, T, D]) -> (s: f32[H, S, T]) {
  require H % G == 0
  s[h, i, j] = sum[d](q[h, i, d] * k[h // (H // G), j, d])
})";

void expectRuns(const std::string &text, const Sizes &sizes) {
  EXPECT_EQ(runCase({.text = text, .sizes = sizes}), "") << text;
  EXPECT_EQ(runCase({.text = text, .sizes = sizes, .target = "sm_90a"}), "") << text << " sm_90a";
  EXPECT_EQ(runCase({.text = text, .sizes = sizes, .target = "sm_90a", .specialise = false}), "") << text << " general";
}

TEST(Digits, GroupsOfHeads) {
  expectRuns(kScores, {{"H", 6}, {"G", 2}, {"S", 20}, {"T", 40}, {"D", 16}});
  expectRuns(kScores, {{"H", 4}, {"G", 4}, {"S", 3}, {"T", 9}, {"D", 8}});   // a head each
  expectRuns(kScores, {{"H", 5}, {"G", 1}, {"S", 1}, {"T", 64}, {"D", 32}}); // all share one, decoding
}

TEST(Digits, AGroupIsATile) {
  Case c{.text = kScores, .sizes = {{"H", 8}, {"G", 2}, {"S", 1}, {"T", 64}, {"D", 64}}, .target = "sm_90a"};
  c.expect = "tile h_low 4"; // its rows read the keys once
  EXPECT_EQ(runCase(c), "");
  // Tiles that the group does not fill.
  c.expect = "";
  c.sizes = {{"H", 6}, {"G", 2}, {"S", 5}, {"T", 30}, {"D", 24}};
  c.schedule = R"([{"kernel": "scores", "launch": "s", "unit": "mma", "tiles": {"h_low": 4, "i": 8, "j": 16, "d": 16}}])";
  for (const char *target : {"sm_80", "sm_90a"}) {
    c.target = target;
    EXPECT_EQ(runCase(c), "") << target;
  }
}

TEST(Digits, AlternatingHeads) {
  expectRuns(R"(def scores(q: f16[H, S, D], k: f16[G, T, D]) -> (s: f32[H, S, T]) {
  require H % G == 0
  s[h, i, j] = sum[d](q[h, i, d] * k[h % G, j, d])
})",
             {{"H", 6}, {"G", 3}, {"S", 10}, {"T", 20}, {"D", 16}});
}

// What a product reads and what reads it has the same digits; the index itself is data too.
TEST(Digits, AroundTheProduct) {
  expectRuns(R"(def attention(q: bf16[H, S, D], k: bf16[G, T, D], v: bf16[G, T, D], slope: f32[H]) -> (o: bf16[H, S, D], l: f32[H, S]) {
  require H % G == 0
  let s[h, i, j] = sum[d](q[h, i, d] * k[h // (H // G), j, d]) - slope[h] * f32(j) / f32(h + 1)
  let m[h, i] = max[j](s[h, i, j])
  let p[h, i, j] = exp(s[h, i, j] - m[h, i])
  l[h, i] = sum[j](p[h, i, j])
  o[h, i, d] = sum[j](bf16(p[h, i, j] / l[h, i]) * v[h // (H // G), j, d])
})",
             {{"H", 6}, {"G", 2}, {"S", 7}, {"T", 33}, {"D", 16}});
}

TEST(Digits, ReducedBySizes) {
  expectRuns(R"(def weighted(x: f32[H, N], w: f32[G]) -> (y: f32[N]) {
  require H % G == 0
  y[i] = sum[h](x[h, i] * w[h // (H // G)])
})",
             {{"H", 12}, {"G", 3}, {"N", 50}});
}

// Groups inside a channel's subscript are a batch of products.
TEST(Digits, GroupsOfChannels) {
  auto expectUnit = [](const std::string &text, const Sizes &sizes) {
    for (const char *target : {"sm_90a", "sm_80"}) {
      Case c{.text = text, .sizes = sizes, .target = target, .expect = "tile o_low "};
      EXPECT_EQ(runCase(c), "") << text << ' ' << target;
      std::string cuda = cudaTextOf(c);
      EXPECT_TRUE(cuda.find("kc_mma") != std::string::npos || cuda.find("kc_wgmma") != std::string::npos) << text << ' ' << target;
    }
  };
  expectUnit(R"(def f(x: bf16[N, H, W, 64], w: bf16[64, 3, 3, 32]) -> (y: bf16[N, H - 2, W - 2, 64]) {
  y[n, p, q, o] = sum[r, s, c](x[n, p + r, q + s, (o // 32) * 32 + c] * w[o, r, s, c])
})",
             {{"N", 1}, {"H", 5}, {"W", 10}});
  expectUnit(R"(def f(x: bf16[N, H, W, 39], w: bf16[3, 3, 13, 63]) -> (y: f32[N, H - 2, W - 2, 63]) {
  y[n, p, q, o] = sum[r, s, c](x[n, p + r, q + s, (o // 21) * 13 + c] * w[r, s, c, o])
})",
             {{"N", 2}, {"H", 4}, {"W", 7}});
  // Of sizes, in every layout of a few groups and of one channel each.
  const char *nchw = R"(def f(x: bf16[N, G * C, H, W], w: bf16[G * Q, C, 3, 3], b: f32[G * Q]) -> (y: f32[N, G * Q, H - 2, W - 2]) {
  y[n, o, p, q] = relu(sum[c, r, s](x[n, o // Q * C + c, p + r, q + s] * w[o, c, r, s]) + b[o])
})";
  for (bool specialise : {true, false})
    for (const Sizes &sizes :
         {Sizes{{"C", 32}, {"G", 2}, {"Q", 32}}, Sizes{{"C", 13}, {"G", 3}, {"Q", 21}}, Sizes{{"C", 1}, {"G", 6}, {"Q", 1}}}) {
      Case c{.text = nchw, .sizes = sizes, .specialise = specialise};
      c.sizes.insert({{"N", 1}, {"H", 4}, {"W", 7}});
      for (const char *target : {"sm_90a", "sm_80"}) {
        c.target = target;
        EXPECT_EQ(runCase(c), "") << target << specialise;
      }
    }
  expectUnit(R"(def f(x: f32[M, 96], w: f32[96, 32]) -> (y: f32[M, 96]) {
  precision(contract = tf32)
  y[m, o] = sum[c](x[m, (o // 32) * 32 + c] * w[o, c])
})",
             {{"M", 67}});
}

} // namespace
} // namespace kernelc::test

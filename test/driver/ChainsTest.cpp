// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chained products and attention in one launch (sm_90a), from text to a checked result.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

// One launch, whose first round is walked whatever there is: rows whose keys would begin beyond the last one have none, and none of
// the zeros that stand there.
TEST(Chains, RowsWithoutKeys) {
  for (const char *condition : {"j >= i", "i - 9 < j <= i", "j > i + 70", "j % 2 == 0", "j <= i + T - S"})
    for (auto [s, t] : {std::pair<int64_t, int64_t>{130, 64}, {70, 128}, {200, 100}, {64, 0}}) {
      std::string text = "def a(q: f16[H, S, D], k: f16[H, T, D], v: f16[H, T, D]) -> (o: f16[H, S, D], l: f32[H, S]) {\n"
                         "  let s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) * rsqrt(f32(D))\n"
                         "  let p[h, i, j] = softmax[j](s[h, i, j] if " +
                         std::string(condition) +
                         " else -inf)\n"
                         "  o[h, i, d] = sum[j](f16(p[h, i, j]) * v[h, j, d])\n"
                         "  l[h, i] = logsumexp[j](s[h, i, j] if " +
                         condition + " else -inf)\n}";
      Sizes sizes{{"H", 1}, {"S", s}, {"T", t}, {"D", 64}};
      for (bool specialise : {true, false})
        EXPECT_EQ(runCase({text, sizes, "", "sm_90a", specialise}), "") << text << s << " " << t << " " << specialise;
    }
}

// Conditions that mask an operand in its slot, of the second product of a round.
TEST(Chains, MasksOfSecondProducts) {
  for (const char *sum : {"sum[j, j % 2 == 0](f16(s[h, i, j]) * v[h, j, d])", "sum[j, j % 3 != 1, j <= i](f16(s[h, i, j]) * v[h, j, d])"}) {
    std::string text = "def a(q: f16[H, S, D], k: f16[H, T, D], v: f16[H, T, D]) -> (o: f32[H, S, D]) {\n"
                       "  let s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) * rsqrt(f32(D))\n  o[h, i, d] = " +
                       std::string(sum) + "\n}";
    for (bool specialise : {true, false})
      EXPECT_EQ(runCase({text, {{"H", 2}, {"S", 70}, {"T", 200}, {"D", 64}}, "", "sm_90a", specialise}), "") << text << specialise;
  }
}

// A matrix beside the scores: what tensor copies can bring takes its room in slots, and what they cannot (bits, rows of no 16 bytes,
// mirrored and shared subscripts) is loaded by those who multiply.
TEST(Chains, MatricesBesideScores) {
  struct {
    const char *type, *term;
  } terms[] = {{"f32", "S + m[i, j]"},      {"bool", "S if m[i, j] else -inf"}, {"i64", "S + f32(m[i, j])"},
               {"f32", "S * m[i // 2, j]"}, {"f32", "S + m.pad(0)[i, j - i]"},  {"f32", "S + m[j, i]"},
               {"bool", "S * f32(m[i, j])"}};
  for (const auto &t : terms)
    for (const char *chain : {"softmax[j](%)", "%"})
      for (int64_t s : {81, 128}) {
        std::string term = t.term;
        term.replace(term.find('S'), 1, "s[b, i, j]");
        std::string p = chain;
        if (p == "%" && term.find("inf") != std::string::npos)
          continue;
        p.replace(p.find('%'), 1, term);
        std::string text = "def f(q: f16[B, S, D], k: f16[B, S, D], v: f16[B, S, D], m: " + std::string(t.type) +
                           "[S, S]) -> (o: f16[B, S, D]) {\n  let s[b, i, j] = sum[d](q[b, i, d] * k[b, j, d]) * 0.125\n"
                           "  let p[b, i, j] = " +
                           p + "\n  o[b, i, e] = sum[j](f16(p[b, i, j]) * v[b, j, e])\n}";
        EXPECT_EQ(runCase({text, {{"B", 1}, {"S", s}, {"D", 64}}, "", "sm_90a", true}), "") << text << s;
      }
}

// The shared memory of a launch is what its slots take, a bias's too, at any size.
TEST(Chains, BiasesFitIntoSlots) {
  const char *forward = "def f(q: bf16[S, D], k: bf16[S, D], v: bf16[S, D], m: f64[S, S]) -> (o: bf16[S, D]) {\n"
                        "  let p[i, j] = softmax[j](sum[d](q[i, d] * k[j, d]) + f32(m[i, j]))\n"
                        "  o[i, e] = sum[j](bf16(p[i, j]) * v[j, e])\n}";
  const char *backward = "def f(q: bf16[S, D], k: bf16[S, D], g: bf16[S, D], v: bf16[S, D], l: f32[S], r: f32[S], m: f32[S, S])\n"
                         "    -> (dk: f32[S, D], dv: f32[S, D]) {\n"
                         "  let p[i, j] = exp(sum[d](q[i, d] * k[j, d]) + m[i, j] - l[i])\n"
                         "  dv[j, e] = sum[i](bf16(p[i, j]) * g[i, e])\n"
                         "  let dp[i, j] = sum[e](g[i, e] * v[j, e])\n"
                         "  dk[j, d] = sum[i](bf16(p[i, j] * (dp[i, j] - r[i])) * q[i, d])\n}";
  const char *wide = "def f(q: bf16[S, 8], k: bf16[S, 8], v: bf16[S, D], g: bf16[S, D]) -> (o: f32[S, D], t: f32[S, D]) {\n"
                     "  let p[i, j] = softmax[j](sum[d](q[i, d] * k[j, d]) if j <= i else -inf)\n"
                     "  o[i, e] = sum[j](bf16(p[i, j]) * v[j, e])\n  t[j, e] = sum[i](bf16(p[i, j]) * g[i, e])\n}";
  for (const char *text : {forward, backward, wide})
    for (int64_t s : {80, 512, 4096})
      for (int64_t d : {32, 64, 128}) {
        std::string cuda = cudaTextOf({text, {{"S", s}, {"D", d}}, "", "sm_90a", true});
        EXPECT_NE(cuda.find("__global__"), std::string::npos) << text << s << " " << d << cuda;
      }
}

} // namespace
} // namespace kernelc::test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose full rounds go ahead of the last one: sizes around whole rounds, everything that is carried, ends that
// depend on the row or on the block, and the same without.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

std::string runPeeled(const std::string &text, std::map<std::string, int64_t> sizes, const std::string &fields = R"("tiles": {"j": 64})",
                      bool specialise = true) {
  Case c{text, std::move(sizes), "", "sm_90a"};
  c.specialise = specialise;
  c.schedule = R"([{"kernel": "k", "launch": "y", "peel": true, )" + fields + "}]";
  return runCase(c);
}

const char *const kSum = "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }";

TEST(PeelRounds, SizesAroundWholeRounds) {
  for (int64_t n : {0, 1, 63, 64, 65, 127, 128, 129, 257})
    for (bool specialise : {true, false})
      EXPECT_EQ(runPeeled(kSum, {{"M", 3}, {"N", n}}, R"("tiles": {"j": 64})", specialise), "") << n;
}

TEST(PeelRounds, IsTheSchedulesChoice) {
  Case c{kSum, {{"M", 3}, {"N", 130}}, "", "sm_90a"};
  c.schedule = R"([{"kernel": "k", "launch": "y", "tiles": {"j": 64}, "peel": true}])";
  c.expect = "; peel";
  EXPECT_EQ(runCase(c), "");
}

TEST(PeelRounds, WhateverIsCarried) {
  for (const char *text : {"def k(x: f32[M, N]) -> (y: i64[M]) { y[i] = argmax[j](x[i, j]) }",
                           "def k(x: bf16[M, N]) -> (y: bf16[M]) { y[i] = max[j](x[i, j]) }",
                           "def k(x: bf16[M, N], v: bf16[N]) -> (y: bf16[M]) { y[i] = sum[j](x[i, j] * v[j]) }",
                           "def k(x: bf16[N, M], v: bf16[N]) -> (y: bf16[M]) { y[i] = sum[j](x[j, i] * v[j]) }",
                           "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = logsumexp[j](x[i, j]) }",
                           "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = var[j](x[i, j]) }",
                           "def k(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }",
                           "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](1 / x[i, j] if x[i, j] > 0.25 else 0) }",
                           "def k(x: f32[M, N, 3]) -> (y: f32[M]) { y[i] = sum[j, l](x[i, j, l]) }"})
    for (int64_t n : {60, 64, 197})
      EXPECT_EQ(runPeeled(text, {{"M", 5}, {"N", n}}), "") << text << " " << n;
}

TEST(PeelRounds, EndsThatDependOnTheRow) {
  for (const char *text : {"def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j] if j <= i else 0) }",
                           "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j] if j >= i else 0) }",
                           "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j] if j >= i and j < i + 70 else 0) }"})
    for (const char *tiles : {R"("tiles": {"i": 1, "j": 16})", R"("tiles": {"i": 4, "j": 16})"})
      EXPECT_EQ(runPeeled(text, {{"M", 97}, {"N", 83}}, tiles), "") << text << tiles;
}

// The last part of a long sum is shorter: its rounds end where the tensor does.
TEST(PeelRounds, PartsOfLongSums) {
  const std::vector<std::pair<const char *, std::vector<const char *>>> texts = {
      {kSum, {"y_part"}},
      {"def k(x: bf16[M, N], v: bf16[N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j] * v[j]) }", {"y_part"}},
      {"def k(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }", {"max", "sum"}}};
  for (const auto &[text, launches] : texts)
    for (int64_t n : {2048, 20001, 16385}) {
      Case c{text, {{"M", 3}, {"N", n}}, "", "sm_90a"};
      c.schedule = R"([{"kernel": "k", "parts": 4})";
      for (const char *launch : launches)
        c.schedule += std::string(R"(, {"kernel": "k", "peel": true, "launch": ")") + launch + "\"}";
      c.schedule += "]";
      EXPECT_EQ(runCase(c), "") << text << " " << n;
    }
}

TEST(PeelRounds, RoundsThatAClusterSharesOut) {
  for (int64_t n : {1, 127, 129, 200, 300})
    EXPECT_EQ(runPeeled(kSum, {{"M", 3}, {"N", n}}, R"("tiles": {"i": 1, "j": 32}, "cluster": 4)"), "") << n;
}

// Rows and columns beyond the end are read as the last ones: by one thread each, by vectors, sixteen to a thread.
TEST(ClampLoads, RowsAndColumnsBeyondTheEnd) {
  for (const char *text :
       {"def k(x: f32[N, M]) -> (y: f32[M]) { y[i] = sum[j](x[j, i]) }", "def k(x: bf16[N, M]) -> (y: bf16[M]) { y[i] = max[j](x[j, i]) }",
        "def k(x: f32[N, M], v: f32[N]) -> (y: f32[M]) { y[i] = sum[j](x[j, i] * v[j]) }",
        "def k(x: f32[N, M]) -> (y: f32[M]) { y[i] = logsumexp[j](x[j, i]) }",
        "def k(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }",
        "def k(x: f32[N, M]) -> (y: f32[M]) { y[i] = sum[j](x[j, i] if j <= i else 0) }"})
    for (int64_t m : {0, 1, 36, 40, 97})
      for (const char *clamp : {"0", "1", "16"})
        EXPECT_EQ(runPeeled(text, {{"M", m}, {"N", 83}}, std::string(R"("tiles": {"i": 32, "j": 16}, "clamp": )") + clamp), "")
            << text << " " << m << " " << clamp;
}

TEST(ClampLoads, WhatIsWrittenIsLeftAlone) {
  EXPECT_EQ(runCase({"def k(inout x: f32[M, N]) { x[i, j] = x[i, j] - mean[i](x[i, j]) }", {{"M", 83}, {"N", 97}}, "", "sm_90a"}), "");
  EXPECT_EQ(runCase({"def k(x: f32[M, N], inout y: f32[N]) { y[j] += sum[i](x[i, j]) }", {{"M", 83}, {"N", 97}}, "", "sm_90a"}), "");
}

} // namespace
} // namespace kernelc::test

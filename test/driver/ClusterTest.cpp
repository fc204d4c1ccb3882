// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions whose index the blocks of a cluster share out (sm_90a): sizes that fit neither
// tiles nor clusters, every kind of state, statements that read what has been merged.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

std::string runShared(const std::string &text, Sizes sizes, int cluster, const std::string &tiles = R"("i": 16, "j": 64)") {
  Case c{text, std::move(sizes), "", "sm_90a"};
  c.schedule = R"([{"kernel": "k", "launch": "y", "cluster": )" + std::to_string(cluster) + R"(, "tiles": {)" + tiles + "}}]";
  c.expect = "kc_cluster_rank()";
  return runCase(c);
}

TEST(ClusterReduce, ColumnsOfAnySize) {
  const char *text = "def k(x: f32[M, N]) -> (y: f32[N]) { y[j] = sum[i](x[i, j]) }";
  for (int cluster : {2, 4, 8})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{201, 97}, {17, 64}, {1, 3}, {128, 130}})
      EXPECT_EQ(runShared(text, {{"M", m}, {"N", n}}, cluster), "") << m << "x" << n << " by " << cluster;
}

TEST(ClusterReduce, NoElements) {
  EXPECT_EQ(runShared("def k(x: f32[M, N]) -> (y: f32[N]) { y[j] = sum[i](x[i, j]) }", {{"M", 0}, {"N", 70}}, 8), "");
}

TEST(ClusterReduce, EveryKindOfState) {
  for (const char *text :
       {"def k(x: f64[M, N]) -> (y: f64[N]) { y[j] = sum[i](x[i, j]) }", "def k(x: bf16[M, N]) -> (y: bf16[N]) { y[j] = max[i](x[i, j]) }",
        "def k(x: i64[M, N]) -> (y: i64[N]) { y[j] = sum[i](x[i, j]) }", "def k(x: bool[M, N]) -> (y: bool[N]) { y[j] = any[i](x[i, j]) }",
        "def k(x: f32[M, N]) -> (y: i64[N]) { y[j] = argmax[i](x[i, j]) }",
        "def k(x: f32[M, N]) -> (y: f32[N]) { y[j] = sum[i](x[i, j] if i >= j else 0) }",
        "def k(x: f32[M, N]) -> (y: f32[]) { y[] = sum[i, j](x[i, j]) }"})
    EXPECT_EQ(runShared(text, {{"M", 201}, {"N", 97}}, 4), "") << text;
}

TEST(ClusterReduce, StatementsThatReadTheResult) {
  Sizes sizes{{"M", 201}, {"N", 97}};
  EXPECT_EQ(runShared("def k(x: f32[M, N]) -> (y: f32[N]) { y[j] = var[i](x[i, j]) }", sizes, 4), "");
  EXPECT_EQ(runShared("def k(x: f32[M, N]) -> (y: f32[N]) { y[j] = logsumexp[i](x[i, j]) }", sizes, 4), "");
  EXPECT_EQ(runShared("def k(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] - mean[i](x[i, j]) }", sizes, 4), "");
  EXPECT_EQ(runShared("def k(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }", {{"M", 5}, {"N", 1001}}, 4, R"("j": 64)"),
            "");
}

// Operands that lie along another index are turned in the loop, whose rounds differ from block to block.
TEST(ClusterReduce, OperandsInAnotherOrder) {
  EXPECT_EQ(runShared("def k(x: f32[M, N], w: f32[N, M]) -> (y: f32[N]) { y[j] = sum[i](x[i, j] * w[j, i]) }", {{"M", 201}, {"N", 97}}, 4),
            "");
}

// Results that lie along another index than what they are computed from are turned on their way out.
TEST(ClusterReduce, ResultsInAnotherOrder) {
  EXPECT_EQ(runShared("def k(x: f32[M, N, L]) -> (y: f32[L, N]) { y[l, j] = sum[i](x[i, j, l]) }", {{"M", 50}, {"N", 20}, {"L", 33}}, 4,
                      R"("i": 4, "j": 16, "l": 32)"),
            "");
}

} // namespace
} // namespace kernelc::test

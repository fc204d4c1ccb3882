// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions that have a product's shape, with another term or combiner: they take the tiling of products.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

struct General {
  const char *name, *text;
};

const General kGeneral[] = {
    {"min_plus", "def f(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = min[k](a[i, k] + b[k, j]) }"},
    {"max_min", "def f(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) { c[i, j] = max[k](min(a[i, k], b[j, k])) }"},
    {"max_of_products", "def f(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = max[k](a[i, k] * b[k, j]) }"},
    {"city_block", "def f(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](abs(a[i, k] - b[j, k])) }"},
    {"squares_then_root", "def f(a: bf16[M, K], b: bf16[N, K]) -> (c: f32[M, N]) {\n"
                          "let d[i, j] = sum[k]((f32(a[i, k]) - f32(b[j, k])) * (f32(a[i, k]) - f32(b[j, k])))\nc[i, j] = sqrt(d[i, j]) }"},
    {"computed_operand", "def f(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = min[k](exp(a[i, k]) + 1 - 2 * b[k, j]) }"},
    {"bits", "def f(a: u32[M, K], b: u32[N, K]) -> (c: u32[M, N]) { c[i, j] = sum[k]((a[i, k] ^ b[j, k]) & 7) }"},
    {"unsigned_min", "def f(a: u32[M, K], b: u32[N, K]) -> (c: u32[M, N]) { c[i, j] = min[k](a[i, k] | b[j, k]) }"},
    {"wide", "def f(a: f64[M, K], b: f64[N, K]) -> (c: f64[M, N]) { c[i, j] = prod[k](1.0 + a[i, k] - b[j, k]) }"},
    {"batched", "def f(a: f32[M, 3, K], b: f32[3, N, K]) -> (c: f32[3, M, N]) { c[h, i, j] = max[k](a[i, h, k] - b[h, j, k]) }"},
    {"windows",
     "def f(a: f32[M, K], b: f32[N, K, 3, 2]) -> (c: f32[M, N]) { c[i, j] = max[k, r, s](a.pad(-inf)[i + r - s, k] + b[j, k, r, s]) }"},
    {"one_constant_side", "def f(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = min[k](max(a[i, k], b[k, j]) - 3) }"},
};

class GeneralContraction : public testing::TestWithParam<General> {};

TEST_P(GeneralContraction, AgreesWithTheReference) {
  for (const char *target : {"sm_75", "sm_80", "sm_90a"})
    for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 128, 64}, {67, 41, 37}, {300, 33, 5}, {20, 257, 131}, {33, 70, 0}}) {
      EXPECT_EQ(runCase({GetParam().text, {{"M", m}, {"N", n}, {"K", k}}, "", target}), "") << target << " " << m << " " << n << " " << k;
    }
}

TEST_P(GeneralContraction, LoadsTilesOnceForAllOfTheirResults) {
  std::string text = cudaTextOf({GetParam().text, {{"M", 256}, {"N", 256}, {"K", 64}}, "", "sm_80"});
  EXPECT_NE(text.find("_slots"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(All, GeneralContraction, testing::ValuesIn(kGeneral), [](const auto &info) { return info.param.name; });

// The machine's sums of terms are exact where they are whole numbers, whatever lies beyond the extents.
TEST(GeneralContractions, WhatLiesBeyondIsNoTerm) {
  const char *text = "def f(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](exp(a[i, k] * 0 - b[j, k] * 0)) }";
  for (const char *target : {"sm_80", "sm_90a"})
    EXPECT_EQ(runCase({text, {{"M", 65}, {"N", 66}, {"K", 33}}, "", target}), "") << target;
}

} // namespace
} // namespace kernelc::test

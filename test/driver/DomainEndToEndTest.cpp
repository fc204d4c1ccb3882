// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks, conditional reductions and split indices from text to a checked result: tiles outside a
// domain are skipped, tiles across its border are masked, rows without a point give
// what the program as written gives.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

void expectRuns(const std::string &text, const Sizes &sizes) {
  EXPECT_EQ(runCase({text, sizes, "", "sm_80", true}), "") << text;
  EXPECT_EQ(runCase({text, sizes, "", "sm_90a", false}), "") << text << " general";
}

std::string product(const std::string &type, const std::string &statement) {
  return "def p(a: " + type + "[M, K], b: " + type + "[K, N]) -> (c: f32[M, N]) { c[i, j] = " + statement + " }";
}

// Conditions of one factor's indices: the product stays a product.
TEST(Domain, Products) {
  for (const char *type : {"f32", "bf16"})
    for (const char *condition : {"k <= i", "k >= i", "i - 70 <= k <= i + 9", "k // 24 == i // 24", "2 * k <= 3 * i - 40", "k <= j",
                                  "k <= i, k >= j", "k == i", "k < 40"})
      expectRuns(product(type, std::string("sum[k, ") + condition + "](a[i, k] * b[k, j])"), {{"M", 150}, {"N", 70}, {"K", 133}});
}

TEST(Domain, MaskedFactors) {
  for (const char *term : {"(a[i, k] if k <= i else 0) * b[k, j]", "(a[i, k] if k <= i else 0) * (b[k, j] if j <= k else 0)",
                           "(0 if k > i else a[i, k]) * b[k, j]", "a[i, k] * f32(k <= i) * b[k, j]",
                           "exp(a[i, k] if k <= i and k >= i - 50 else -inf) * b[k, j]"})
    expectRuns(product("f32", std::string("sum[k](") + term + ")"), {{"M", 150}, {"N", 66}, {"K", 97}});
}

// A condition that ties both factors together, and one that makes a vector an operand.
TEST(Domain, OtherProducts) {
  expectRuns(product("f32", "sum[k, i + j >= k](a[i, k] * b[k, j])"), {{"M", 20}, {"N", 33}, {"K", 70}});
  expectRuns("def t(a: f32[K], b: f32[K, N], x: f32[M]) -> (c: f32[M, N]) { c[i, j] = sum[k]((a[k] if k <= i else 0) * b[k, j]) + x[i] }",
             {{"M", 130}, {"N", 65}, {"K", 140}});
  expectRuns("def t(a: f32[M, R, K], b: f32[R, K, N]) -> (c: f32[M, N]) { c[i, j] = sum[r, k, k <= i, r <= i](a[i, r, k] * b[r, k, j]) }",
             {{"M", 70}, {"N", 33}, {"K", 80}, {"R", 3}});
}

TEST(Domain, Reductions) {
  for (const char *value :
       {"sum[j](x[i, j] if j <= i else 0)", "max[j](x[i, j] if j <= 2 * i else -inf)", "min[j](x[i, j] if j >= i else inf)",
        "prod[j](1 if j > i + 3 else x[i, j] / 2)", "sum[j, i <= j < i + 5](x[i, j])", "sum[j](exp(x[i, j] if j <= i else -inf))",
        "sum[j](sqrt(abs(x[i, j]) if j % 3 == 0 else 0))", "max[j, j > i + N](x[i, j])"})
    for (int64_t n : {70, 5000})
      expectRuns(std::string("def r(x: f32[M, N]) -> (y: f32[M]) { y[i] = ") + value + " }", {{"M", 7}, {"N", n}});
  expectRuns("def r(x: i32[M, N]) -> (y: i32[M], z: bool[M]) { y[i] = max[j](x[i, j] if j < i else -2147483648)\n"
             "z[i] = any[j](j <= i and x[i, j] > 7) }",
             {{"M", 7}, {"N", 70}});
}

// A subscript that is inside only where the condition holds: the rest of the tile
// must not be read.
TEST(Domain, GuardedAccesses) {
  expectRuns("def g(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j in 0:N, j > 0](x[i, j - 1]) }", {{"M", 3}, {"N", 70}});
  expectRuns("def g(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j in 0:N](x[i, j - 3] if j > 2 else 0) }", {{"M", 3}, {"N", 5000}});
  expectRuns("def g(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k in 0:K, k >= 1](a[i, k - 1] * b[k - 1, j]) }",
             {{"M", 30}, {"N", 70}, {"K", 40}});
  expectRuns("def g(x: f32[N]) -> (y: f32[N]) {\n y[i] = x[i - 1] where i > 0\n y[i] = 0 where i == 0\n }", {{"N", 70}});
}

// Lanes exchange bits by shuffles, all of them whatever the bits are.
TEST(Domain, Bits) {
  for (const char *kind : {"any", "all"})
    expectRuns(std::string("def r(x: i32[M, N]) -> (z: bool[M]) { z[i] = ") + kind + "[j](x[i, j] > 7 - i) }", {{"M", 7}, {"N", 70}});
}

// Where every point of a row is masked a softmax is 0 / 0, and stays so.
TEST(Domain, RowsWithoutPoints) {
  for (auto [s, t] : {std::pair<int64_t, int64_t>{5, 9}, {9, 5}, {40, 4100}})
    expectRuns("def m(x: f32[S, T]) -> (y: f32[S, T]) { y[i, j] = softmax[j](x[i, j] if j <= i + T - S else -inf) }", {{"S", s}, {"T", t}});
  expectRuns("def m(x: f32[S, T]) -> (y: f32[S]) { y[i] = logsumexp[j](x[i, j] if 3 <= j < i else -inf) }", {{"S", 9}, {"T", 70}});
}

TEST(Domain, CausalAttention) {
  const char *text = "def a(q: bf16[H, S, D], k: bf16[H, T, D], v: bf16[H, T, D]) -> (o: bf16[H, S, D]) {\n"
                     "  let s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) * rsqrt(f32(D))\n"
                     "  let p[h, i, j] = softmax[j](s[h, i, j] if j <= i + T - S else -inf)\n"
                     "  o[h, i, d] = sum[j](bf16(p[h, i, j]) * v[h, j, d])\n"
                     "}";
  for (auto [s, t] : {std::pair<int64_t, int64_t>{150, 150}, {19, 140}, {140, 100}})
    expectRuns(text, {{"H", 2}, {"S", s}, {"T", t}, {"D", 24}});
}

// Groups of a reduced index with something of their own, and digits of it.
TEST(Domain, Digits) {
  expectRuns("def g(x: bf16[M, 64 * G], q: i8[64 * G, N], s: f32[G, N]) -> (y: f32[M, N]) {\n"
             "y[i, j] = sum[k](x[i, k] * bf16(f32(q[k, j]) * s[k // 64, j])) }",
             {{"M", 70}, {"N", 33}, {"G", 3}});
  expectRuns("def g(x: f32[M, K, 4], w: f32[4 * K, N]) -> (y: f32[M, N]) {\n"
             "y[i, j] = sum[k, k <= 2 * i](x[i, k // 4, k % 4] * w[k, j]) }",
             {{"M", 70}, {"N", 33}, {"K", 11}});
  expectRuns("def g(x: f32[M, K, 2, 4]) -> (y: f32[M]) { y[i] = max[k in 0:8 * K](x[i, k // 8, k // 4 % 2, k % 4]) }",
             {{"M", 5}, {"K", 37}});
}

} // namespace
} // namespace kernelc::test

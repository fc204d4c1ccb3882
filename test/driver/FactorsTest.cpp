// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of more than two factors, reduced indices that one factor alone has, and indices in any order and direction.
#include "EndToEnd.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

struct Product {
  const char *name, *text;
  std::map<std::string, int64_t> even, odd;
  bool unit = true; ///< a matrix unit takes it, at both sizes
};

const Product kProducts[] = {
    {"khatri_rao",
     "def f(x: bf16[I, J, K], b: bf16[J, R], c: bf16[K, R]) -> (y: f32[I, R]) { y[i, r] = sum[j, k](x[i, j, k] * b[j, r] * c[k, r]) }",
     {{"I", 128}, {"J", 3}, {"K", 64}, {"R", 64}},
     {{"I", 35}, {"J", 3}, {"K", 37}, {"R", 71}}},
    {"khatri_rao_tf32",
     "def f(x: f32[I, J, K], b: f32[J, R], c: f32[K, R]) -> (y: f32[I, R]) { precision(contract = tf32)\n"
     "y[i, r] = sum[j, k](b[j, r] * x[i, j, k] * c[k, r]) }",
     {{"I", 128}, {"J", 2}, {"K", 32}, {"R", 64}},
     {{"I", 35}, {"J", 3}, {"K", 37}, {"R", 71}}},
    {"bilinear",
     "def f(x: bf16[B, I], w: bf16[O, I, J], z: bf16[B, J]) -> (y: f32[B, O]) { y[b, o] = sum[i, j](x[b, i] * w[o, i, j] * z[b, j]) }",
     {{"B", 64}, {"I", 4}, {"J", 64}, {"O", 64}},
     {{"B", 33}, {"I", 3}, {"J", 21}, {"O", 41}}},
    {"experts",
     "def f(g: f32[M, E], x: bf16[M, K], w: bf16[E, K, N]) -> (y: f32[M, N]) { y[m, n] = sum[e, k](g[m, e] * x[m, k] * w[e, k, n]) }",
     {{"M", 64}, {"E", 3}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"E", 3}, {"K", 37}, {"N", 71}}},
    {"own",
     "def f(x: bf16[A, B, C], y: bf16[E, C, D]) -> (z: f32[A, D]) { z[a, d] = sum[b, c, e](x[a, b, c] * y[e, c, d]) }",
     {{"A", 64}, {"B", 3}, {"C", 64}, {"D", 64}, {"E", 2}},
     {{"A", 37}, {"B", 3}, {"C", 29}, {"D", 41}, {"E", 2}}},
    {"own_i8",
     "def f(x: i8[A, B, C], y: i8[D, C]) -> (z: i32[A, D]) { z[a, d] = sum[b, c](x[a, b, c] * y[d, c]) }",
     {{"A", 64}, {"B", 3}, {"C", 128}, {"D", 64}},
     {{"A", 37}, {"B", 3}, {"C", 45}, {"D", 41}}},
    {"own_masked",
     "def f(x: bf16[A, B, C], y: bf16[C, D]) -> (z: f32[A, D]) { z[a, d] = sum[b, c, b <= a and c >= b](x[a, b, c] * y[c, d]) }",
     {{"A", 64}, {"B", 3}, {"C", 64}, {"D", 64}},
     {{"A", 37}, {"B", 5}, {"C", 29}, {"D", 41}}},
    {"row_scale",
     "def f(s: f32[M], a: f32[M, K], b: f32[K, N]) -> (y: f32[M, N]) { precision(contract = tf32)\n"
     "y[m, n] = sum[k](s[m] * a[m, k] * b[k, n]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"sum_scale",
     "def f(a: f32[M, K], s: f32[K], b: f32[K, N]) -> (y: f32[M, N]) { precision(contract = bf16)\n"
     "y[m, n] = sum[k](a[m, k] * s[k] * b[k, n]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"sum_scale_parts",
     "def f(a: f32[M, K], s: f32[K], b: f32[K, N]) -> (y: f32[M, N]) { precision(contract = bf16x3)\n"
     "y[m, n] = sum[k](a[m, k] * s[k] * b[k, n]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"row_scale_parts",
     "def f(s: f32[M], a: f32[M, K], b: f32[K, N]) -> (y: f32[M, N]) { precision(contract = bf16x3)\n"
     "y[m, n] = sum[k](a[m, k] * b[k, n] * s[m]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"gated",
     "def f(a: f32[M, K], b: f32[K, N], g: f32[M, K]) -> (y: f32[M, N]) { precision(contract = tf32)\n"
     "y[m, n] = sum[k](a[m, k] * b[k, n] * g[m, k]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"gated_parts",
     "def f(a: f32[M, K], b: f32[K, N], g: f32[M, K], h: f32[K, N]) -> (y: f32[M, N]) { precision(contract = bf16x3)\n"
     "y[m, n] = sum[k](a[m, k] * b[k, n] * g[m, k] * h[k, n]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"backwards",
     "def f(a: bf16[M, K], b: bf16[N, K]) -> (y: f32[M, N]) { y[m, n] = sum[k](a[m, K - 1 - k] * b[n, K - 1 - k]) }",
     {{"M", 64}, {"K", 128}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"backwards_masked",
     "def f(a: bf16[M, K], b: bf16[N, K]) -> (y: f32[M, N]) { y[m, n] = sum[k, k <= m](a[m, K - 1 - k] * b[n, K - 1 - k]) }",
     {{"M", 64}, {"K", 128}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}}},
    {"rows_along_memory",
     "def f(a: bf16[P, K, Q], b: bf16[K, N]) -> (y: f32[Q, P, N]) { y[q, p, n] = sum[k](a[p, k, q] * b[k, n]) }",
     {{"P", 8}, {"K", 64}, {"Q", 64}, {"N", 64}},
     {{"P", 5}, {"K", 37}, {"Q", 19}, {"N", 71}}},
    {"permuted",
     "def f(a: bf16[I, C, J, K], b: bf16[D, K, E]) -> (y: f32[I, J, C, D, E]) {\n"
     "y[i, j, c, d, e] = sum[k](a[i, c, j, k] * b[d, k, e]) }",
     {{"I", 4}, {"C", 8}, {"J", 16}, {"K", 64}, {"D", 2}, {"E", 64}},
     {{"I", 3}, {"C", 7}, {"J", 5}, {"K", 37}, {"D", 3}, {"E", 19}}},
    {"rows_and_batch",
     "def f(a: bf16[M, B, K], b: bf16[K, B, N]) -> (y: f32[B, M, N]) { y[b_, m, n] = sum[k](a[m, b_, k] * b[k, b_, n]) }",
     {{"M", 64}, {"K", 64}, {"B", 3}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"B", 3}, {"N", 71}}},
    // A product of two bf16 is no bf16, and nobody allowed to round it.
    {"exact",
     "def f(a: bf16[M, K], s: bf16[K], b: bf16[K, N]) -> (y: f32[M, N]) { y[m, n] = sum[k](a[m, k] * s[k] * b[k, n]) }",
     {{"M", 64}, {"K", 64}, {"N", 64}},
     {{"M", 67}, {"K", 37}, {"N", 71}},
     false},
};

TEST(Factors, AgreeAndReachTheUnit) {
  for (const Product &p : kProducts)
    for (const char *target : {"sm_90a", "sm_80"})
      for (const auto &sizes : {p.even, p.odd}) {
        Case c{p.text, sizes, "", target};
        EXPECT_EQ(runCase(c), "") << p.name << ' ' << target;
        std::string text = cudaTextOf(c);
        bool unit = text.find("kc_mma") != std::string::npos || text.find("kc_wgmma") != std::string::npos;
        EXPECT_EQ(unit, p.unit) << p.name << ' ' << target;
      }
}

// Copies that turn an operand round.
TEST(Factors, BackwardsInCopies) {
  for (const char *text : {"def f(a: bf16[M, K], b: bf16[N, K]) -> (y: f32[M, N]) { y[m, n] = sum[k](a[m, K - 1 - k] * b[n, k]) }",
                           "def f(a: bf16[M, K], b: bf16[N, K]) -> (y: f32[M, N]) { y[m, n] = sum[k](a[M - 1 - m, k] * b[N - 1 - n, k]) }",
                           "def f(a: f32[M, K], b: f32[N, K]) -> (y: f32[M, N]) { precision(contract = tf32)\n"
                           "y[m, n] = sum[k](a[m, K - 1 - k] * b[n, k]) }"})
    for (const auto &sizes : {std::map<std::string, int64_t>{{"M", 64}, {"K", 64}, {"N", 64}}, {{"M", 67}, {"K", 37}, {"N", 71}}}) {
      Case c{text, sizes, "", "sm_90a"};
      c.schedule = R"([{"kernel": "f", "copies": "always"}])";
      c.expect = "kc_wgmma_";
      EXPECT_EQ(runCase(c), "") << text;
    }
}

const Product *kOwn =
    std::find_if(std::begin(kProducts), std::end(kProducts), [](const Product &p) { return std::string(p.name) == "own"; });

// A schedule may not give the factor that lacks an index several of its points.
TEST(Factors, OwnIndicesHaveTilesOfOne) {
  Case c{kOwn->text, kOwn->even, "", "sm_90a"};
  c.schedule = R"([{"kernel": "f", "launch": "z", "tiles": {"b": 2}}])";
  EXPECT_NE(runCase(c).find("one operand alone has the summed index 'b', so that its tile is 1, not 2"), std::string::npos) << runCase(c);
}

} // namespace
} // namespace kernelc::test

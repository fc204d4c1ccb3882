// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reducers of the program and recurrences on the emulator: lawful ones and others, of every length, in all places that take one.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

const std::string kReducers = "reducer last_max(a, b: (v: f32, i: i64)) identity (-inf, -1) { b if b.v >= a.v else a }\n"
                              "reducer saturating(a, b: i8) identity 0 { i8(min(max(a + b, -128), 127)) }\n"
                              "reducer welford(a, b: (n: f32, mean: f32, m2: f32)) identity (0, 0, 0) {\n"
                              "  let n = a.n + b.n\n  let d = b.mean - a.mean\n  let w = b.n / n if n > 0 else 0\n"
                              "  (n, a.mean + d * w, a.m2 + b.m2 + d * d * a.n * w)\n}\n"
                              "reducer affine(a, b: (a: i32, b: i32)) identity (1, 0) { (a.a * b.a, b.a * a.b + b.b) }\n"
                              "reducer extremes(a, b: (lo: f32, hi: f32)) identity (inf, -inf) { (min(a.lo, b.lo), max(a.hi, b.hi)) }\n";

void expectRuns(const std::string &kernel, const std::map<std::string, int64_t> &sizes, const std::string &target = "sm_90a") {
  for (bool specialise : {true, false}) {
    Case c{kReducers + kernel, sizes, "", target};
    c.specialise = specialise;
    EXPECT_EQ(runCase(c), "") << kernel << (specialise ? "" : ", general");
  }
}

// Blocks share rows and columns out, whatever their length.
TEST(Folds, RowsAndColumnsOfEveryLength) {
  for (int64_t n : {0, 1, 5, 33, 257, 1030, 5000})
    for (int64_t m : {1, 70})
      if (n * m < 100000) {
        expectRuns("def f(x: f32[M, N]) -> (y: f32[M], z: f32[M]) {\n  let w[i] = welford[k](1, x[i, k], 0)\n  y[i] = w[i].mean\n"
                   "  z[i] = w[i].m2\n}",
                   {{"M", m}, {"N", n}});
        expectRuns("def f(x: f32[N, M]) -> (y: f32[M]) { y[i] = extremes[k](x[k, i], x[k, i]).hi - extremes[k](x[k, i], x[k, i]).lo }",
                   {{"M", m}, {"N", n}}, "sm_80");
      }
}

// In order where a law fails; without commutativity parts keep theirs.
TEST(Folds, KeepTheirOrder) {
  for (int64_t n : {0, 1, 33, 300}) {
    expectRuns("def f(x: f32[M, N]) -> (y: i64[M]) { y[i] = last_max[k](floor(x[i, k] * 4), k).i }", {{"M", 5}, {"N", n}});
    expectRuns("def f(x: i8[M, N]) -> (y: i8[M]) { y[i] saturating= x[i, k] }", {{"M", 37}, {"N", n}}, "sm_80");
    expectRuns("def f(x: i32[N, M]) -> (y: i32[M]) { y[i] = affine[k](x[k, i], 1).b }", {{"M", 40}, {"N", n}});
    expectRuns("def f(x: i32[M, K, N]) -> (y: i32[M]) { y[i] = affine[k, l](x[i, k, l], 1).b }", {{"M", 3}, {"N", n}, {"K", 3}});
  }
}

// Few results of long reductions are cut into parts.
TEST(Folds, LongReductionsAreSplit) {
  for (int64_t n : {65536, 70001}) {
    Case c{kReducers +
               "def f(x: f32[N]) -> (y: f32[], z: f32[]) {\n  let w[] = welford[k](1, x[k], 0)\n  y[] = w.mean\n  z[] = w.m2 / w.n\n}",
           {{"N", n}},
           "",
           "sm_90a"};
    EXPECT_EQ(runCase(c), "");
    EXPECT_NE(cudaTextOf(c).find("k_part"), std::string::npos);
    expectRuns("def f(x: i32[N]) -> (y: i32[]) { y[] = affine[k](x[k], 1).b }", {{"N", n}});
  }
}

TEST(Folds, ConditionsScattersAndScans) {
  for (int64_t n : {0, 1, 70, 300}) {
    expectRuns("def f(x: f32[M, N]) -> (y: f32[M]) { y[i] = extremes[k, x[i, k] > 0](x[i, k], x[i, k]).lo }", {{"M", 6}, {"N", n}});
    expectRuns("def f(x: i8[N], p: u8[N]) -> (y: i8[7]) { y[p[n] % 7] saturating= x[n] }", {{"N", n}});
    expectRuns("def f(x: i32[M, N]) -> (y: i32[M, N]) { y[i, j] = affine[k, k <= j](x[i, k], 1).b }", {{"M", 6}, {"N", n}});
    expectRuns("def f(x: i32[N, M]) -> (y: i32[N, M]) { y[j, i] = affine[k, k > j](x[k, i], 1).b }", {{"M", 40}, {"N", n}}, "sm_80");
    expectRuns("def f(x: i8[N]) -> (y: i8[N]) { y[j] = saturating[k, k >= j](x[k]) }", {{"N", n}});
  }
}

// Few rows are scanned in one pass: blocks look back for what is before their tile.
TEST(Folds, LongScansLookBack) {
  for (int64_t n : {36864, 40001}) {
    Case c{kReducers + "def f(x: i32[N]) -> (y: i32[N], z: i32[N]) {\n  y[t] = affine[k, k <= t](x[k], 1).b\n"
                       "  let w[t] = affine[k, k > t](x[k], 1) where t in 0:N\n  z[t] = w[t].a ^ w[t].b\n}",
           {{"N", n}},
           "",
           "sm_90a"};
    EXPECT_EQ(runCase(c), "");
    EXPECT_NE(cudaTextOf(c).find("kc_ask("), std::string::npos);
    expectRuns("def f(x: f32[N]) -> (y: f32[N]) { y[t] = 0.9 * y.pad(0)[t - 1] + x[t] }", {{"N", n}});
    expectRuns("def f(x: f32[N]) -> (y: f32[N]) { y[t] = 0.9 * y.pad(0)[t + 1] + x[t] }", {{"N", n}});
  }
}

TEST(Folds, Recurrences) {
  for (int64_t n : {1, 2, 70, 300}) {
    expectRuns("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, t] = 0.5 * y.pad(1)[i, t - 1] - 0.25 * y.pad(0)[i, t - 2] + x[i, t] }",
               {{"M", 6}, {"N", n}});
    expectRuns("def f(x: f16[N, M]) -> (y: f16[N, M]) { y[t, i] = tanh(0.5 * y.pad(0)[t + 1, i] + x[t, i]) }", {{"M", 40}, {"N", n}},
               "sm_80");
    expectRuns("def f(x: f32[N, M]) -> (y: f32[N, M]) {\n  require N >= 1\n  y[0, i] = x[0, i]\n"
               "  y[t, i] = max(y[t - 1, i] - 0.5, x[t, i]) where t in 1:N\n}",
               {{"M", 40}, {"N", n}});
    expectRuns("def f(x: i32[N]) -> (y: i32[N]) {\n  let h[t] = h.pad(1)[t - 1] * 3 + x[t]\n  y[t] = h[t] ^ x[t]\n}", {{"N", n}});
  }
}

// States of a recurrence that only a sum leaves stay in registers: one launch.
TEST(Folds, SelectiveScanIsOneLaunch) {
  Case c{"def f(x: f32[B, L, D], dt: f32[B, L, D], a: f32[D, N], u: f32[B, L, N], v: f32[B, L, N]) -> (y: f32[B, L, D]) {\n"
         "  let h[b, l, d, n] = exp(dt[b, l, d] * a[d, n]) * h.pad(0)[b, l - 1, d, n] + dt[b, l, d] * u[b, l, n] * x[b, l, d]\n"
         "  y[b, l, d] = sum[n](v[b, l, n] * h[b, l, d, n])\n}",
         {{"B", 2}, {"L", 5}, {"D", 70}, {"N", 16}},
         "",
         "sm_90a"};
  EXPECT_EQ(runCase(c), "");
  std::string text = cudaTextOf(c);
  size_t launches = 0;
  for (size_t at = text.find("__global__"); at != std::string::npos; at = text.find("__global__", at + 1))
    ++launches;
  EXPECT_EQ(launches, 1u) << text;
}

} // namespace
} // namespace kernelc::test

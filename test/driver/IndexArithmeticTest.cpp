// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What programs compute from indices and sizes is i64, whatever the width of the offsets in the text.
#include "test/driver/EndToEnd.h"

#include "gtest/gtest.h"

namespace kernelc::test {
namespace {

void expectRuns(Case c) {
  for (const char *target : {"sm_80", "sm_90a"})
    for (bool specialise : {true, false}) {
      c.target = target;
      c.specialise = specialise;
      EXPECT_EQ(runCase(c), "") << c.text << " " << target << (specialise ? "" : " general");
    }
}

TEST(IndexArithmetic, Values) {
  expectRuns({.text = "def k(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + f32(i * i) }", .sizes = {{"N", 60000}}});
  expectRuns({.text = "def k(x: f64[N]) -> (y: f64[]) { y[] = sum[i](x[i]) / f64(N * N * N) }", .sizes = {{"N", 60000}}});
  expectRuns({.text = "def k(x: f64[N]) -> (y: f64[N]) { y[n] = x[n] + f64(N * 1000000000 * n) }", .sizes = {{"N", 70}}});
}

TEST(IndexArithmetic, Conditions) {
  expectRuns({.text = "def k(x: f32[N]) -> (y: f32[N]) { y[n] = x[n] if n * 100000000 < 5000000000 else 0 }", .sizes = {{"N", 100}}});
  expectRuns(
      {.text = "def k(x: f32[N]) -> (y: f32[N]) { y[n] = x[n] if (n * 123456789) % 1000003 < 500000 else 0 }", .sizes = {{"N", 99}}});
  expectRuns({.text = "def k(x: f32[N]) -> (y: f32[]) { y[] = sum[n, n * n * n * n * n * n % 7 == 1](x[n]) }", .sizes = {{"N", 300}}});
}

TEST(IndexArithmetic, BoundsForms) {
  expectRuns({.text = "def k(t: f32[V], x: f32[N]) -> (y: f32[N]) { require V >= 1\n y[n] = t.edge[n * 4294967296 - 3] + x[n] }",
              .sizes = {{"V", 10}, {"N", 7}}});
  expectRuns({.text = "def k(t: f32[V], x: f32[N]) -> (y: f32[N]) { require V >= 1\n y[n] = t.wrap[n * 2000000011 + 1000000000] + x[n] }",
              .sizes = {{"V", 6}, {"N", 9}}});
}

TEST(IndexArithmetic, Gathers) {
  const int64_t kTwo32 = int64_t(1) << 32;
  for (const char *form : {"pad(-1)", "edge", "wrap", "reflect"}) {
    expectRuns(
        {.text = std::string("def k(t: f32[V, D], p: i64[N]) -> (y: f32[N, D]) { require V >= 1\n y[n, d] = t.") + form + "[p[n], d] }",
         .sizes = {{"V", 6}, {"D", 4}, {"N", 5}},
         .values = {{"p", {1, kTwo32, kTwo32 + 3, -kTwo32, 7}}}});
    expectRuns({.text = std::string("def k(t: f32[V], p: i32[N]) -> (y: f32[N]) { require V >= 1\n y[n] = t.") + form + "[p[n] + n] }",
                .sizes = {{"V", 6}, {"N", 5}},
                .values = {{"p", {1, 2147483647, -2147483647, 3, 2147483646}}}});
  }
}

// Facts that bound the value leave it at 32 bits.
TEST(IndexArithmetic, ProvedSmall) {
  std::string text =
      cudaTextOf({.text = "def k(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + f32(i * i) }", .sizes = {{"N", 300}}, .target = "sm_90a"});
  EXPECT_NE(text.find("(float)(i * i)"), std::string::npos) << text;
}

TEST(IndexArithmetic, EveryOtherElementComesInWholeVectors) {
  const std::string text = R"(def f(x: bf16[M, 2 * N], z: f32[2 * N], q: i8[M, 4 * N]) -> (y: f32[M, N], u: f32[N], w: i32[M, N]) {
    y[i, j] = x[i, 2 * j] * x[i, 2 * j + 1]
    u[j] = z[2 * j + 1] - z[2 * j]
    w[i, j] = q[i, 4 * j] + q[i, 4 * j + 1] * q[i, 4 * j + 3] - q[i, 4 * j + 2]
  })";
  for (int64_t n : {1, 37, 64, 1030})
    for (bool specialise : {true, false})
      EXPECT_EQ(runCase({.text = text, .sizes = {{"M", 3}, {"N", n}}, .target = "sm_90a", .specialise = specialise}), "") << n;
  // Launches of few points have no vectors.
  EXPECT_EQ(runCase({.text = text, .sizes = {{"M", 273}, {"N", 512}}, .target = "sm_90a", .expect = "= *(const uint4 *)&x["}), "");
}

} // namespace
} // namespace kernelc::test

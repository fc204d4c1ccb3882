// From text to a checked result with no GPU: every kind of kernel, awkward sizes.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

TEST(EndToEnd, Saxpy) {
  const char *text = "def saxpy(a: f32, x: f32[N], y: f32[N]) -> (z: f32[N]) { z[i] = a * x[i] + y[i] }";
  for (int64_t n : {1, 7, 1000, 4096, 5001})
    EXPECT_EQ(runCase({text, {{"N", n}}}), "") << n;
}

TEST(EndToEnd, Softmax) {
  const char *text = "def s(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 33}, {5, 1000}, {2, 4097}}) {
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}, "", "sm_80", false}), "") << m << "x" << n << " general";
  }
}

TEST(EndToEnd, ColumnSum) {
  const char *text = "def c(x: f32[M, N]) -> (y: f32[N]) { y[j] = sum[i](x[i, j]) }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {100, 33}, {37, 256}})
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
}

TEST(EndToEnd, Transpose) {
  const char *text = "def t(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {100, 33}, {64, 128}})
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
}

TEST(EndToEnd, Matmul) {
  for (const char *access : {"a[i, k] * b[k, j]", "a[i, k] * b[j, k]", "a[k, i] * b[k, j]", "a[k, i] * b[j, k]"})
    for (const char *type : {"f32", "bf16", "f16"}) {
      std::string a = std::string(access).substr(2, 1) == "i" ? "[M, K]" : "[K, M]";
      std::string b = std::string(access).find("b[k") != std::string::npos ? "[K, N]" : "[N, K]";
      std::string text = "def m(a: " + (type + a) + ", b: " + (type + b) + ") -> (c: " + type + "[M, N]) { c[i, j] = sum[k](" + access + ") }";
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 64}, {65, 72, 40}, {17, 33, 19}})
        EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}, {"K", k}}}), "") << text << " " << m << "x" << n << "x" << k;
    }
}

} // namespace
} // namespace kernelc::test

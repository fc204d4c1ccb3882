// From text to a checked result with no GPU: every kind of kernel, awkward sizes.
#include "EndToEnd.h"

#include <fstream>
#include <sstream>

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

// Tiles that hold nothing but coordinates or constants have no registers of their own.
TEST(EndToEnd, CoordinatesAndConstants) {
  EXPECT_EQ(runCase({"def a(x: f32[M, N]) -> (y: i64[M]) { y[i] = argmax[j](x[i, j]) }", {{"M", 2}, {"N", 1024}}}), "");
  EXPECT_EQ(runCase({"def p(x: f32[N]) -> (y: f32[N]) { y[i] = x.pad(2)[i - 1] + x.pad(0)[i + 1] }", {{"N", 70}}}), "");
  EXPECT_EQ(runCase({"def t(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] if i < 5 else 1 }", {{"N", 70}}}), "");
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

/// Every example, at sizes that fit no tile, in the specialised and the general
/// variant.
struct Example {
  const char *file, *kernel;
  Sizes sizes;
};
class Examples : public testing::TestWithParam<Example> {};

std::string readExample(const std::string &file) {
  std::ifstream in(std::string(KERNELC_SOURCE_DIR) + "/examples/" + file + ".kc");
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

TEST_P(Examples, RunsOnTheEmulator) {
  const Example &e = GetParam();
  std::string text = readExample(e.file);
  ASSERT_NE(text, "");
  EXPECT_EQ(runCase({text, e.sizes, e.kernel, "sm_80", true}), "");
  EXPECT_EQ(runCase({text, e.sizes, e.kernel, "sm_90a", false}), "") << "general";
}

INSTANTIATE_TEST_SUITE_P(
    All, Examples,
    testing::Values(Example{"argmax", "row_argmax", {{"M", 5}, {"N", 77}}},
                    Example{"attention", "attention", {{"B", 1}, {"H", 4}, {"G", 2}, {"S", 19}, {"T", 37}, {"D", 24}}},
                    Example{"batched_matmul", "batched_matmul", {{"B", 3}, {"M", 20}, {"N", 36}, {"K", 52}}},
                    Example{"column_norm", "column_norm", {{"M", 45}, {"N", 67}}},
                    Example{"column_sum", "column_sum", {{"M", 45}, {"N", 67}}},
                    Example{"concat", "concat", {{"M", 5}, {"N", 9}, {"K", 33}}},
                    Example{"conv2d", "conv2d", {{"N", 1}, {"H", 5}, {"W", 6}, {"C", 16}, {"R", 3}, {"S", 3}, {"O", 24}}},
                    Example{"layernorm", "layer_norm", {{"M", 5}, {"N", 70}}},
                    Example{"linear", "linear", {{"M", 40}, {"N", 50}, {"K", 72}}},
                    Example{"linear_gelu", "linear_gelu", {{"M", 40}, {"N", 48}, {"K", 72}}},
                    Example{"logsumexp", "row_logsumexp", {{"M", 5}, {"N", 70}}},
                    Example{"rmsnorm", "rms_norm", {{"M", 5}, {"N", 70}}},
                    Example{"row_sum", "row_sum", {{"M", 5}, {"N", 70}}},
                    Example{"saxpy", "saxpy", {{"N", 1234}}},
                    Example{"softmax", "softmax_rows", {{"M", 5}, {"N", 1300}}},
                    Example{"transpose", "transpose", {{"M", 45}, {"N", 67}}},
                    Example{"triangular", "triangular", {{"N", 150}, {"M", 70}}}),
    [](const testing::TestParamInfo<Example> &info) { return std::string(info.param.kernel); });

} // namespace
} // namespace kernelc::test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Extents of zero: nothing is read or written beyond a tensor, reductions over nothing are
// their identity. A size of zero is of no use as a bound (te::knownPositive).
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

void expectRuns(const std::string &text, const Sizes &sizes) {
  for (bool specialise : {true, false})
    EXPECT_EQ(runCase({.text = text, .sizes = sizes, .specialise = specialise}), "") << text;
}

TEST(Empty, RowsWithoutElements) {
  const char *softmax = "def s(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }";
  const char *total = "def t(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }";
  for (const char *text : {softmax, total}) {
    expectRuns(text, {{"M", 5}, {"N", 0}});
    expectRuns(text, {{"M", 0}, {"N", 5}});
    expectRuns(text, {{"M", 0}, {"N", 0}});
  }
  expectRuns("def c(x: f32[M, N]) -> (y: f32[N]) { y[j] = sum[i](x[i, j]) }", {{"M", 0}, {"N", 5}});
}

// The size is not zero, the extent is; and a size of one, whose tile has one point.
TEST(Empty, ExtentsThatAreDifferences) {
  const char *text = "def d(x: f32[M, N + 2]) -> (y: f32[M]) { y[i] = sum[0 <= j < N](x[i, j + 2] - x[i, j]) }";
  for (int64_t n : {0, 1, 2, 3})
    expectRuns(text, {{"M", 3}, {"N", n}});
  const char *inner = "def e(x: f32[M, N]) -> (y: f32[M]) { require N >= 2\n y[i] = sum[1 <= j < N - 1](x[i, j]) }";
  for (int64_t n : {2, 3, 4})
    expectRuns(inner, {{"M", 3}, {"N", n}});
}

// No position is -1: of no element, or of none that the condition lets through.
TEST(Empty, PositionsOfNothing) {
  for (const char *kind : {"argmax", "argmin"})
    for (const char *type : {"f32", "i32", "u32"}) {
      std::string params = std::string("(x: ") + type + "[M, N]) -> (y: i64[M]) { y[i] = " + kind;
      for (int64_t n : {0, 1, 70}) {
        expectRuns("def a" + params + "[j](x[i, j]) }", {{"M", 5}, {"N", n}});
        expectRuns("def a" + params + "[j, x[i, j] > " + (type[0] == 'f' ? "1.0e30" : "2000000000") + "](x[i, j]) }", {{"M", 5}, {"N", n}});
      }
    }
  expectRuns("def a(x: f32[M, N]) -> (y: bool[M]) { y[i] = argmax[j, x[i, j] > 1.0e30](x[i, j]) == -1 }", {{"M", 5}, {"N", 70}});
}

TEST(Empty, Products) {
  const char *text = "def p(a: f16[M, K], b: f16[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";
  for (Sizes sizes : {Sizes{{"M", 20}, {"N", 24}, {"K", 0}}, {{"M", 0}, {"N", 24}, {"K", 16}}, {{"M", 20}, {"N", 0}, {"K", 16}}}) {
    expectRuns(text, sizes);
    EXPECT_EQ(runCase({.text = text, .sizes = sizes, .target = "sm_90a"}), "") << "sm_90a";
  }
}

} // namespace
} // namespace kernelc::test

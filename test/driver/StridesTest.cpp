// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that are not dense: every layout class, inputs and outputs, in what each
// variant makes of them: vectors, copies by cp.async and TMA, single elements.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Layouts = std::map<std::string, std::string>;

const char *kLayouts[] = {"rows", "step", "transposed", "reversed", "shifted"};

Case with(const char *text, std::map<std::string, int64_t> sizes, Layouts layouts, const char *target = "sm_80") {
  Case c{text, std::move(sizes), "", target};
  c.layouts = std::move(layouts);
  return c;
}

/// The variant of these layouts, and the one that takes any.
std::string runBoth(Case c) {
  std::string special = runCase(c);
  if (!special.empty())
    return special;
  c.expect.clear();
  c.general = true;
  c.specialise = false;
  std::string general = runCase(c);
  return general.empty() ? "" : "general: " + general;
}

TEST(Strides, Elementwise) {
  const char *text = "def f(x: f32[M, N], y: bf16[N]) -> (z: f32[M, N]) { z[i, j] = 2 * x[i, j] + y[j] }";
  for (std::string layout : kLayouts)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 64}, {5, 33}, {1, 1}}) {
      EXPECT_EQ(runBoth(with(text, {{"M", m}, {"N", n}}, {{"x", layout}})), "") << layout << " x " << m << "x" << n;
      EXPECT_EQ(runBoth(with(text, {{"M", m}, {"N", n}}, {{"z", layout}})), "") << layout << " z " << m << "x" << n;
    }
  EXPECT_EQ(runBoth(with(text, {{"M", 6}, {"N", 40}}, {{"x", "repeated"}, {"y", "repeated"}})), "");
  EXPECT_EQ(runBoth(with(text, {{"M", 6}, {"N", 40}}, {{"x", "transposed"}, {"y", "reversed"}, {"z", "step"}})), "");
}

TEST(Strides, RowsKeepTheirVectors) {
  const char *text = "def f(x: f32[M, N]) -> (z: f32[M, N]) { z[i, j] = 2 * x[i, j] }";
  Case c = with(text, {{"M", 433}, {"N", 256}}, {{"x", "rows"}, {"z", "rows"}}); // launches of few points have no vectors
  c.expect = "x_stride0";
  EXPECT_EQ(runBoth(c), "");
  c.expect = "uint4";
  EXPECT_EQ(runBoth(c), "");
}

TEST(Strides, UpdatedInPlace) {
  const char *text = "def f(y: f32[M, N], inout x: f32[M, N]) { x[i, j] = x[i, j] + 2 * y[i, j] }";
  for (std::string layout : kLayouts)
    EXPECT_EQ(runBoth(with(text, {{"M", 40}, {"N", 136}}, {{"x", layout}})), "") << layout;
}

TEST(Strides, Softmax) {
  const char *text = "def s(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }";
  for (std::string layout : kLayouts)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 128}, {2, 1001}})
      EXPECT_EQ(runBoth(with(text, {{"M", m}, {"N", n}}, {{"x", layout}, {"y", layout}})), "") << layout << " " << n;
}

TEST(Strides, Transpose) {
  const char *text = "def t(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }";
  for (std::string layout : kLayouts)
    EXPECT_EQ(runBoth(with(text, {{"M", 40}, {"N", 72}}, {{"x", layout}, {"y", layout}})), "") << layout;
}

TEST(Strides, ReadBeyondTheBorder) {
  const char *text = "def p(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x.pad(2)[i - 1, j] + x.edge[i, j + 1] }";
  for (std::string layout : {"rows", "reversed", "transposed"})
    EXPECT_EQ(runBoth(with(text, {{"M", 9}, {"N", 40}}, {{"x", layout}, {"y", layout}})), "") << layout;
}

const char *kProduct = "def m(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";

TEST(Strides, ProductsOnSm80) {
  for (std::string layout : kLayouts)
    for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 64}, {65, 72, 40}, {17, 33, 19}}) {
      Case c = with(kProduct, {{"M", m}, {"N", n}, {"K", k}}, {{"a", layout}, {"b", layout}, {"c", layout}});
      EXPECT_EQ(runBoth(c), "") << layout << " " << m << "x" << n << "x" << k;
    }
  Case rows = with(kProduct, {{"M", 64}, {"N", 64}, {"K", 64}}, {{"a", "rows"}, {"b", "rows"}});
  rows.expect = "kc_cp_async";
  EXPECT_EQ(runCase(rows), "");
}

TEST(Strides, ProductsOnSm90a) {
  for (std::string layout : kLayouts) {
    Case c = with(kProduct, {{"M", 136}, {"N", 264}, {"K", 72}}, {{"a", layout}, {"c", layout}}, "sm_90a");
    EXPECT_EQ(runBoth(c), "") << layout;
  }
  // Rows of 16-byte multiples travel by tensor copies, in and out.
  Case rows = with(kProduct, {{"M", 128}, {"N", 256}, {"K", 128}}, {{"a", "rows"}, {"b", "rows"}, {"c", "rows"}}, "sm_90a");
  rows.expect = "kc_tma_load";
  EXPECT_EQ(runCase(rows), "");
  rows.expect = "kc_tma_store";
  EXPECT_EQ(runCase(rows), "");
}

TEST(Strides, AnOutputThatIsReadAgain) {
  const char *text = R"(def m(a: bf16[M, K], b: bf16[N, K], w: bf16[P, N]) -> (c: bf16[M, N], d: f32[M, P]) {
  c[i, j] = sum[k](a[i, k] * b[j, k])
  d[i, p] = sum[j](c[i, j] * w[p, j])
})";
  for (std::string layout : {"rows", "transposed", "shifted"})
    for (const char *target : {"sm_80", "sm_90a"})
      EXPECT_EQ(runBoth(with(text, {{"M", 72}, {"N", 136}, {"K", 64}, {"P", 64}}, {{"c", layout}}, target)), "") << layout << target;
}

TEST(Strides, Batched) {
  const char *text = "def m(a: f16[B, M, K], b: f16[B, K, N]) -> (c: f32[B, M, N]) { c[n, i, j] = sum[k](a[n, i, k] * b[n, k, j]) }";
  for (std::string layout : {"rows", "step", "transposed", "repeated"})
    EXPECT_EQ(runBoth(with(text, {{"B", 3}, {"M", 72}, {"N", 64}, {"K", 40}}, {{"a", layout}, {"b", layout}}, "sm_90a")), "") << layout;
}

} // namespace
} // namespace kernelc::test

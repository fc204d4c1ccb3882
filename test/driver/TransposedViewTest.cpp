// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs that are transposed views: their dims change places in the variant, which then reads them like the tensors
// that they are views of.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

Case on(const std::string &text, Sizes sizes, std::map<std::string, std::string> layouts, const std::string &expect,
        const std::string &target = "sm_90a") {
  Case c{text, std::move(sizes), "", target};
  c.layouts = std::move(layouts);
  c.expect = expect;
  return c;
}

// Tensor copies and warpgroup products, whichever operand is a view: x @ w.T is a product of rows.
TEST(TransposedView, ProductsOnTheirUnit) {
  const std::string text = "def m(a: bf16[M, K], b: bf16[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }";
  for (const std::map<std::string, std::string> &layouts :
       {std::map<std::string, std::string>{{"b", "transposed"}}, {{"a", "transposed"}}, {{"a", "transposed"}, {"b", "transposed"}}}) {
    EXPECT_EQ(runCase(on(text, {{"M", 136}, {"N", 72}, {"K", 80}}, layouts, "kc_wgmma_bf16<")), "");
    EXPECT_EQ(runCase(on(text, {{"M", 136}, {"N", 72}, {"K", 80}}, layouts, "kc_cp_async_zfill_16(", "sm_80")), "");
  }
}

TEST(TransposedView, OddSizes) {
  const std::string text = "def m(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }";
  EXPECT_EQ(runCase(on(text, {{"M", 37}, {"N", 29}, {"K", 31}}, {{"a", "transposed"}, {"b", "transposed"}}, "kc_cp_async_")), "");
}

// Rows of a view are loaded in vectors; sums over them are sums of columns.
TEST(TransposedView, ElementwiseAndReductions) {
  EXPECT_EQ(runCase(on("def f(x: f32[M, N], b: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] + b[i, j] }", {{"M", 36}, {"N", 68}},
                       {{"x", "transposed"}}, "(const uint4 *)&x")),
            "");
  EXPECT_EQ(runCase(on("def f(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }", {{"M", 36}, {"N", 260}}, {{"x", "transposed"}},
                       "(const uint4 *)&x")),
            "");
  EXPECT_EQ(runCase(on("def f(x: f32[M, N, L]) -> (y: f32[M, L]) { y[i, l] = max[j](x[i, j, l]) }", {{"M", 12}, {"N", 20}, {"L", 8}},
                       {{"x", "transposed"}}, "")),
            "");
}

// Borders and masks follow the subscripts, not the order of the dims.
TEST(TransposedView, Borders) {
  EXPECT_EQ(runCase(on("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x.pad(0)[i - 1, j + 2] + x.edge[i + 3, j] }",
                       {{"M", 36}, {"N", 20}}, {{"x", "transposed"}}, "")),
            "");
}

// What is written stays as it is: a view that is updated has any layout.
TEST(TransposedView, Outputs) {
  EXPECT_EQ(runCase(on("def f(x: f32[M, N], inout y: f32[M, N]) { y[i, j] += x[i, j] }", {{"M", 36}, {"N", 20}},
                       {{"x", "transposed"}, {"y", "transposed"}}, "")),
            "");
}

} // namespace
} // namespace kernelc::test

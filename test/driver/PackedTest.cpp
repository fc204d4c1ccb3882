// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors of i4 and u4, two elements to a byte: as operands and as results, with rows that end inside bytes, outside of
// their bounds, in every layout, and as weights of products.
#include "EndToEnd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

const char *const kTargets[] = {"sm_75", "sm_80", "sm_90a", "sm_120a"};

/// `text` for rows that are whole bytes, that end inside one, and of one element.
void expectEverywhere(const std::string &text) {
  for (const char *target : kTargets)
    for (std::map<std::string, int64_t> sizes :
         {std::map<std::string, int64_t>{{"M", 5}, {"N", 64}}, {{"M", 7}, {"N", 13}}, {{"M", 1}, {"N", 1}}})
      for (bool specialise : {true, false})
        EXPECT_EQ(runCase({.text = text, .sizes = sizes, .target = target, .specialise = specialise}), "") << target << " N=" << sizes["N"];
}

TEST(Packed, BoundsKeepTheirMeaning) {
  expectEverywhere(R"(def f(x: i4[M, N], u: u4[N], k: i32[M]) -> (e: i32[M, N], r: i32[M, N], w: i32[M, N], p: i32[M, N], g: i32[M, N]) {
    require M >= 1
    require N >= 1
    e[i, j] = x.edge[i - 1, j - 2]
    r[i, j] = x.reflect[i + 2, 3 - j]
    w[i, j] = x.wrap[i - 3, j + 5] + u.wrap[j - 7]
    p[i, j] = x.pad(-3)[i - 1, j - 1] * u.pad(13)[2 * j - 3]
    g[i, j] = x.pad(5)[k[i], j]
  })");
}

TEST(Packed, Reductions) {
  expectEverywhere(R"(def f(x: i4[M, N], u: u4[2 * N]) -> (a: i32[M], b: i32[N], c: i64[M], d: bool[M], s: i32[M]) {
    require N >= 1
    require M >= 1
    a[i] = sum[j](x[i, j])
    b[j] = max[i](x[i, j])
    c[i] = argmax[j](x[i, j] + u[2 * j + 1])
    d[i] = any[j](x[i, j] == -8)
    s[i] = sum[j, j <= i](i32(x.assume_inbounds[i, j]) * u.assume_inbounds[j])
  })");
}

TEST(Packed, Results) {
  expectEverywhere(R"(def f(x: f32[M, N], inout acc: i4[M, N], inout r: u4[N]) -> (q: i4[M, N], t: u4[N, M], h: u4[2 * N], o: i4[]) {
    require N >= 1
    q[i, j] = i4(round(x[i, j] * 3))
    t[j, i] = u4(q[i, j] + 3)
    h[2 * i] = u4(x.pad(0)[0, i] * 2)
    h[2 * i + 1] = r[i]
    o[] = i4(sum[i, j](i32(x[i, j])))
    acc[i, j] = i4(acc[i, j] + q[i, j]) where i in 1:M
    r[i] = u4(r[i] * 3 + 1)
  }
  )");
}

TEST(Packed, ScalarsOfFourBits) {
  for (const char *target : kTargets)
    EXPECT_EQ(
        runCase(
            {.text = "def f(a: i4, b: u4, x: i4[N]) -> (y: i32[N]) { y[i] = a * x[i] + i32(b) }", .sizes = {{"N", 37}}, .target = target}),
        "");
}

TEST(Packed, Layouts) {
  for (const char *layout : {"rows", "step", "transposed", "repeated", ""})
    for (int64_t n : {96, 13})
      for (bool general : {false, true})
        EXPECT_EQ(runCase({.text = "def f(x: i4[M, N], u: u4[M, N]) -> (y: i32[M, N], z: i32[M, N]) {\n  y[i, j] = x[i, j] - u[i, j]\n"
                                   "  z[i, j] = x.pad(3)[i + 1, j - 1]\n}",
                           .sizes = {{"M", 6}, {"N", n}},
                           .layouts = {{"x", layout}},
                           .general = general}),
                  "")
            << layout << " " << n << " " << general;
}

TEST(Packed, ResultsAreDense) {
  Case c{
      .text = "def f(x: i32[M, N]) -> (y: i4[M, N]) { y[i, j] = i4(x[i, j]) }", .sizes = {{"M", 6}, {"N", 96}}, .layouts = {{"y", "rows"}}};
  EXPECT_EQ(runCase(c), "");
  c.sizes["N"] = 13;
  EXPECT_THAT(runCase(c), ::testing::HasSubstr("'y' is written a byte at a time, so that it has to be dense, or have rows of whole bytes"));
}

TEST(Packed, WeightsOfProducts) {
  const std::string kernels[] = {"def f(x: bf16[M, K], w: i4[K, N], s: bf16[K // 128, N]) -> (y: bf16[M, N]) {\n  require K % 128 == 0\n"
                                 "  y[m, n] = sum[k](x[m, k] * (bf16(w[k, n]) * s[k // 128, n]))\n}",
                                 "def f(x: bf16[M, K], w: i4[N, K], s: bf16[K // 128, N]) -> (y: bf16[M, N]) {\n  require K % 128 == 0\n"
                                 "  y[m, n] = sum[k](x[m, k] * (bf16(w[n, k]) * s[k // 128, n]))\n}",
                                 "def f(x: f16[M, K], w: u4[K, N]) -> (y: f32[M, N]) { y[m, n] = sum[k](f32(x[m, k]) * f32(w[k, n])) }",
                                 "def f(x: i8[M, K], w: i4[N, K]) -> (y: i32[M, N]) { y[m, n] = sum[k](x[m, k] * w[n, k]) }",
                                 "def f(x: i4[M, K], w: i4[N, K]) -> (y: i32[M, N]) { y[m, n] = sum[k](x[m, k] * w[n, k]) }"};
  for (const std::string &text : kernels)
    for (const char *target : kTargets)
      for (int64_t n : {64, 192, 33})
        EXPECT_EQ(runCase({.text = text, .sizes = {{"M", 20}, {"N", n}, {"K", 256}}, .target = target}), "") << target << " N=" << n << "\n"
                                                                                                             << text;
}

TEST(Packed, WeightsGoThroughRegistersOfWarpgroupUnits) {
  for (const char *weights : {"w: i4[K, N]", "w: i4[N, K]"}) {
    const char *read = std::string(weights).find("[K") == std::string::npos ? "w[n, k]" : "w[k, n]";
    EXPECT_EQ(runCase({.text = std::string("def f(x: bf16[M, K], ") + weights +
                               ", s: bf16[K // 128, N]) -> (y: bf16[M, N]) {\n  require K % 128 == 0\n" +
                               "  y[m, n] = sum[k](x[m, k] * (bf16(" + read + ") * s[k // 128, n]))\n}",
                       .sizes = {{"M", 16}, {"N", 256}, {"K", 512}},
                       .target = "sm_90a",
                       .expect = "kc_wgmma_rs_bf16"}),
              "");
  }
}

} // namespace
} // namespace kernelc::test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of one kernel with changing sizes: a variant for many sizes shares its work out as one for those of the call would, and is right
// for all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "driver/compile/DecidingSizes.h"
#include "driver/jit/Session.h"
#include "driver/verify/HostCheck.h"
#include "driver/verify/HostValues.h"

namespace kernelc {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kScatter[] = "def sums(at: i32[N], x: f32[N], inout y: f32[S]) {\n  require S >= 1\n  y[at[n] % S] += x[n]\n}";

std::shared_ptr<JitKernel> kernelOf(const char *text) {
  SessionOptions options;
  options.diskCache = false;
  options.cpuThreads = 2;
  auto kernel = Session::create(options)->compile(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? *kernel : nullptr;
}

/// A tensor that nobody reads.
DeviceTensor tensor(uintptr_t gigabyte, ElementType type, std::vector<int64_t> shape) {
  std::vector<int64_t> strides = denseStrides(shape);
  return {reinterpret_cast<void *>(gigabyte << 34), type, std::move(shape), std::move(strides), 0};
}

Variant variantOf(JitKernel &kernel, std::vector<LaunchValue> values) {
  auto k = kernel.variantFor("sm_90a", values);
  EXPECT_TRUE(k.ok()) << k.status();
  return k.ok() ? k->variants[0] : Variant();
}

// Products of heads of 80 columns stay in registers, as those of 64 and 128 do: whether they may is a matter of their one extent. So
// do those of a second and third dim.
TEST(SecondSizes, ColumnsOfHeadsAreExact) {
  auto kernel = kernelOf("def f(q: bf16[B, S, D], k: bf16[B, T, D], v: bf16[B, T, D], g: bf16[B, S, D], o: bf16[B, S, D], lse: f32[B, S])\n"
                         "    -> (dq: bf16[B, S, D], dk: bf16[B, T, D], dv: bf16[B, T, D]) {\n"
                         "  let delta[b, i] = sum[d](g[b, i, d] * o[b, i, d])\n"
                         "  let p[b, i, j] = exp(sum[d](q[b, i, d] * k[b, j, d]) - lse[b, i])\n"
                         "  let dp[b, i, j] = sum[d](g[b, i, d] * v[b, j, d])\n"
                         "  let ds[b, i, j] = bf16(p[b, i, j] * (dp[b, i, j] - delta[b, i]))\n"
                         "  dv[b, j, d] = sum[i](bf16(p[b, i, j]) * g[b, i, d])\n"
                         "  dk[b, j, d] = sum[i](ds[b, i, j] * q[b, i, d])\n"
                         "  dq[b, i, d] = sum[j](ds[b, i, j] * k[b, j, d])\n}");
  ASSERT_TRUE(kernel);
  for (int64_t d : {80, 128, 96}) {
    std::vector<LaunchValue> values;
    for (int n = 0; n < 9; ++n)
      values.push_back(tensor(n + 1, n == 5 ? ElementType::f32 : ElementType::bf16,
                              n == 5 ? std::vector<int64_t>{32, 4096} : std::vector<int64_t>{32, 4096, d}));
    EXPECT_EQ(variantOf(*kernel, values).launches.size(), 3u) << d;
  }
}

// Columns of heads that are a quotient of the rows' length, for each of two lengths: attention is one launch behind its projection.
TEST(SecondSizes, QuotientsThatAreColumnsAreExact) {
  auto kernel =
      kernelOf("def f(x: bf16[B, S, E], w: bf16[3 * E, E], const H: i64 = 12) -> (o: bf16[B, S, H, E // H]) {\n"
               "  require E % H == 0\n"
               "  let qkv[b, s, j]: bf16 = sum[k](x[b, s, k] * w[j, k])\n"
               "  let a[b, h, i, j] = sum[d in 0:E // H](qkv[b, i, h * (E // H) + d] * qkv[b, j, E + h * (E // H) + d]) where h in 0:H\n"
               "  let p[b, h, i, j] = softmax[j](a[b, h, i, j])\n"
               "  o[b, i, h, d] = sum[j](bf16(p[b, h, i, j]) * qkv[b, j, 2 * E + h * (E // H) + d]) where h in 0:H, d in 0:E // H\n}");
  ASSERT_TRUE(kernel);
  for (int64_t e : {768, 1536})
    EXPECT_EQ(variantOf(*kernel, {tensor(1, ElementType::bf16, {8, 700, e}), tensor(2, ElementType::bf16, {3 * e, e}),
                                  tensor(3, ElementType::bf16, {8, 700, 12, e / 12})})
                  .launches.size(),
              2u)
        << e;
}

// What is varied costs no variant a value: one that is exact, and those of classes.
TEST(SecondSizes, OfColumnsShareVariants) {
  auto kernel = kernelOf("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = 2 * x[i, j] }");
  ASSERT_TRUE(kernel);
  std::set<std::string> texts;
  for (int64_t n = 8; n <= 256; n += 8)
    texts.insert(variantOf(*kernel, {tensor(1, ElementType::f32, {4096, n}), tensor(2, ElementType::f32, {4096, n})}).cudaText);
  EXPECT_LE(texts.size(), 4u);
}

TEST(SecondSizes, BoundsOfClasses) {
  EXPECT_EQ(decidingBound(1), 64);
  EXPECT_EQ(decidingBound(64), 64);
  EXPECT_EQ(decidingBound(65), 2048);
  EXPECT_EQ(decidingBound(1 << 20), 1 << 21);
  EXPECT_EQ(decidingBound(int64_t(1) << 31), int64_t(1) << 31);
  EXPECT_EQ(decidingBound((int64_t(1) << 31) + 1), -1);
}

// A million points into 4096 rows: exact words of a bound, as with the first sizes, in place of a sort.
TEST(SecondSizes, ScattersDoNotSort) {
  auto kernel = kernelOf(kScatter);
  ASSERT_TRUE(kernel);
  std::set<std::string> texts;
  for (int64_t n : {1 << 20, 1000003, 700001, 300, 5000, 1 << 20, 900000}) {
    Variant v =
        variantOf(*kernel, {tensor(1, ElementType::i32, {n}), tensor(2, ElementType::f32, {n}), tensor(3, ElementType::f32, {4096})});
    EXPECT_THAT(v.cudaText, Not(HasSubstr("_ranks("))) << n;
    EXPECT_LE(v.launches.size(), 4u) << n;
    texts.insert(v.cudaText);
  }
  EXPECT_LE(texts.size(), 5u); // the first, one for each class, and one of whole vectors
}

// One long row, after shorter ones: many blocks have it, not one.
TEST(SecondSizes, LongSumsAndScansAreSharedOut) {
  for (const char *text : {"def f(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }",
                           "def f(x: f32[M, N]) -> (y: f32[M]) { y[i] = log(sum[j](exp(x[i, j]))) }",
                           "def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k, k <= j](x[i, k]) }"}) {
    auto kernel = kernelOf(text);
    ASSERT_TRUE(kernel);
    bool isScan = kernel->signature().params[1].dims.size() == 2;
    std::set<std::string> texts;
    for (int64_t n : {3000, 1000, 2000, 5000001, 4194304, 6000000, 1500}) {
      Variant v = variantOf(*kernel, {tensor(1, ElementType::f32, {1, n}),
                                      tensor(2, ElementType::f32, isScan ? std::vector<int64_t>{1, n} : std::vector<int64_t>{1})});
      const std::vector<int64_t> sizes = {1, n};
      int64_t most = 0;
      for (const Launch &l : v.launches)
        most = std::max(most, l.grid.evaluate(SizeEnv{sizes}));
      EXPECT_TRUE(n < 10000 || most > 100) << text << " " << n << ": " << most << " blocks";
      texts.insert(v.cudaText);
    }
    EXPECT_LE(texts.size(), 8u);
  }
}

// What was cut by what is likely is right for sizes that are not.
TEST(SecondSizes, AgreeWithTheReference) {
  for (const char *text : {"def f(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }",
                           "def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }",
                           "def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k, k <= j](x[i, k]) }"}) {
    auto kernel = kernelOf(text);
    ASSERT_TRUE(kernel);
    bool isSum = kernel->signature().params[1].dims.size() == 1;
    for (int64_t n : {100, 66000, 67001, 2049}) {
      std::vector<HostTensor> t;
      t.emplace_back(ElementType::f32, std::vector<int64_t>{2, n});
      t.emplace_back(ElementType::f32, isSum ? std::vector<int64_t>{2} : std::vector<int64_t>{2, n});
      fillRandom(t[0], 1);
      auto result = checkOnHost(*kernel, {Place::Emulator}, t);
      ASSERT_TRUE(result.ok()) << text << " " << n << ": " << result.status();
      EXPECT_TRUE(result->passed()) << text << " " << n << ": " << result->text;
    }
  }
}

TEST(SecondSizes, ScattersAgreeWithTheReference) {
  auto kernel = kernelOf(kScatter);
  ASSERT_TRUE(kernel);
  for (auto [n, s] : {std::pair<int64_t, int64_t>{5000, 70}, {1000, 70}, {3001, 90}, {60, 3}, {1, 1}}) {
    std::vector<HostTensor> t;
    t.emplace_back(ElementType::i32, std::vector<int64_t>{n});
    t.emplace_back(ElementType::f32, std::vector<int64_t>{n});
    t.emplace_back(ElementType::f32, std::vector<int64_t>{s});
    for (int64_t i = 0; i < n; ++i)
      t[0].as<int32_t>()[i] = int32_t(i * 7919 % 1000);
    fillRandom(t[1], 2);
    auto result = checkOnHost(*kernel, {Place::Emulator}, t);
    ASSERT_TRUE(result.ok()) << n << ": " << result.status();
    EXPECT_TRUE(result->passed()) << n << ": " << result->text;
  }
}

} // namespace
} // namespace kernelc

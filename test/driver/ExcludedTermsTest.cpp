// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a condition excludes is never a value: inputs with infinities and NaN where no term counts give, bit for bit, what
// inputs with zeros there give, on every device; and sums that are exact in f32 give those of the terms that count.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "driver/jit/HostRun.h"
#include "driver/verify/HostCheck.h"
#include "driver/verify/HostValues.h"

namespace kernelc {
namespace {

struct Device {
  Place place;
  std::string target;
};
const Device kDevices[] = {{{Place::Cpu}, "cpu"}, {{Place::Emulator}, "sm_80"}, {{Place::Emulator}, "sm_90a"}};

std::shared_ptr<Session> sessionFor(const std::string &target) {
  SessionOptions o;
  o.diskCache = false;
  o.cpuThreads = 1;
  o.tuned = false;
  if (target != "cpu")
    o.emulatorTarget = target;
  return Session::create(o);
}

void set(HostTensor &t, int64_t i, double v) {
  if (t.type() == ElementType::bf16)
    t.as<uint16_t>()[i] = toBF16(v);
  else
    t.as<float>()[i] = float(v);
}

/// Attention over `lengths` filled keys of a cache, as plain sums.
const char *kCached = R"(
def cached(q: T[B, S, D], k: T[B, C, D], v: T[B, C, D], n: i32[B]) -> (o: f32[B, S, D]) {
  let s[b, i, j] = sum[d](q[b, i, d] * k[b, j, d])
  let p[b, i, j] = softmax[j](s[b, i, j] if j < n[b] else -inf)
  o[b, i, d] = sum[j](T(p[b, i, j]) * v[b, j, d])
})";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

struct Shape {
  int64_t b, s, c, d;
};

/// The results with `poison` in all keys and values beyond n[b].
std::vector<float> attend(const Device &device, const std::string &text, ElementType type, Shape z, const std::vector<int> &lengths,
                          double poison) {
  auto kernel = sessionFor(device.target)->compile(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  if (!kernel.ok())
    return {};
  std::vector<HostTensor> t;
  t.emplace_back(type, std::vector<int64_t>{z.b, z.s, z.d});
  for (int i = 0; i < 2; ++i)
    t.emplace_back(type, std::vector<int64_t>{z.b, z.c, z.d});
  t.emplace_back(ElementType::i32, std::vector<int64_t>{z.b});
  t.emplace_back(ElementType::f32, std::vector<int64_t>{z.b, z.s, z.d});
  for (int i = 0; i < 3; ++i)
    fillRandom(t[size_t(i)], uint64_t(i + 1));
  for (int64_t b = 0; b < z.b; ++b) {
    t[3].as<int32_t>()[b] = lengths[size_t(b)];
    for (int64_t j = lengths[size_t(b)]; j < z.c; ++j)
      for (int64_t d = 0; d < z.d; ++d)
        for (size_t x : {1, 2})
          set(t[x], (b * z.c + j) * z.d + d, poison);
  }
  EXPECT_EQ(runOnHost(**kernel, device.place, t), absl::OkStatus()) << device.target;
  return {t[4].as<float>(), t[4].as<float>() + t[4].numElements()};
}

void expectSameBits(const std::vector<float> &a, const std::vector<float> &b, const std::string &what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(std::memcmp(&a[i], &b[i], 4) == 0 || (std::isnan(a[i]) && std::isnan(b[i])))
        << what << " at " << i << ": " << a[i] << ", " << b[i];
}

TEST(ExcludedTerms, ACacheMayHoldAnythingBeyondItsLength) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  struct Case {
    const char *spelling, *type;
    ElementType element;
    Shape shape;
    int free = 20; ///< keys of the first batch that are not filled
  };
  const Case cases[] = {
      {"bf16", "bf16", ElementType::bf16, {2, 24, 80, 16}},               // a matrix unit, tiles that are cut
      {"f32", "f32", ElementType::f32, {2, 9, 40, 8}},                    // CUDA cores
      {"decode", "bf16", ElementType::bf16, {2, 1, 96, 32}},              // one query
      {"rounds", "bf16", ElementType::bf16, {2, 70, 192, 64}},            // what one launch could do, its last round cut,
      {"whole rounds", "bf16", ElementType::bf16, {2, 64, 256, 64}, 128}, // or left out as a whole
      {"one key", "bf16", ElementType::bf16, {2, 64, 128, 64}, 127},
  };
  for (const Case &c : cases)
    for (const Device &device : kDevices) {
      std::string what = std::string(c.spelling) + " on " + device.target, text = replaced(kCached, "T", c.type);
      std::vector<int> lengths{int(c.shape.c) - c.free, 0};
      std::vector<float> clean = attend(device, text, c.element, c.shape, lengths, 0);
      expectSameBits(clean, attend(device, text, c.element, c.shape, lengths, nan), what + ", NaN");
      expectSameBits(clean, attend(device, text, c.element, c.shape, lengths, inf), what + ", inf");
      int64_t row = c.shape.s * c.shape.d;
      for (int64_t i = 0; i < row; ++i) {
        EXPECT_TRUE(std::isfinite(clean[size_t(i)])) << what;
        EXPECT_TRUE(std::isnan(clean[size_t(row + i)])) << what << ": of no key nothing is left";
      }
    }
}

/// The same beside a condition between a row and what is summed, on what it leaves of the filled keys.
TEST(ExcludedTerms, ACacheUnderACausalConditionMayHoldAnythingToo) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const char *condition : {"j < n[b] and j <= i + 40", "j <= i + 40 and j < n[b]", "n[b] > j and j > i - 30"}) {
    std::string text = replaced(replaced(kCached, "T", "bf16"), "j < n[b]", condition);
    for (const Device &device : kDevices) {
      std::string what = std::string(condition) + " on " + device.target;
      Shape shape{2, 70, 192, 64};
      std::vector<int> lengths{100, 0};
      std::vector<float> clean = attend(device, text, ElementType::bf16, shape, lengths, 0);
      expectSameBits(clean, attend(device, text, ElementType::bf16, shape, lengths, nan), what + ", NaN");
      expectSameBits(clean, attend(device, text, ElementType::bf16, shape, lengths, inf), what + ", inf");
      for (int64_t i = 0, row = shape.s * shape.d; i < row; ++i) {
        EXPECT_TRUE(std::isfinite(clean[size_t(i)])) << what;
        EXPECT_TRUE(std::isnan(clean[size_t(row + i)])) << what;
      }
    }
  }
}

/// Of two products in one launch on CUDA cores the second has no terms where its condition ties rows to keys, whatever the values, or
/// the keys, hold there; results of other rows are NaN where they count a NaN.
TEST(ExcludedTerms, TiedChainsAreExactOnCudaCores) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const int64_t B = 2, S = 66, D = 64, poisoned[] = {23, 64, 65};
  const int lengths[] = {62, 66};
  struct Case {
    const char *sum; ///< of scores s and values v
    std::function<bool(int64_t b, int64_t i, int64_t j)> counts;
  };
  auto softmax = [](const char *condition) {
    return absl::StrCat("sum[j](softmax[j](s[b, i, j] if ", condition, " else -inf) * v[b, j, d])");
  };
  const std::string causal = softmax("j <= i"), band = softmax("j <= i and i < j + 21"), upper = softmax("j >= i"),
                    cached = softmax("j <= i and j < n[b]");
  const Case cases[] = {
      {causal.c_str(), [](int64_t, int64_t i, int64_t j) { return j <= i; }},
      {band.c_str(), [](int64_t, int64_t i, int64_t j) { return j <= i && i < j + 21; }},
      {upper.c_str(), [](int64_t, int64_t i, int64_t j) { return j >= i; }},
      {cached.c_str(), [&](int64_t b, int64_t i, int64_t j) { return j <= i && j < lengths[b]; }},
      {"sum[j, j <= i](relu(s[b, i, j]) * v[b, j, d])", [](int64_t, int64_t i, int64_t j) { return j <= i; }},
      {"sum[j](s[b, i, j] * v[b, j, d] if j <= i else 0)", [](int64_t, int64_t i, int64_t j) { return j <= i; }},
      {"sum[j, j < m[i]](s[b, i, j] * v[b, j, d])", [](int64_t, int64_t i, int64_t j) { return j < (i * 37) % 80 - 5; }},
      {"sum[j, d <= j](s[b, i, j] * v[b, j, d])", {}}, // (the border is the values' own)
  };
  for (const Case &c : cases) {
    std::string text =
        absl::StrCat("def f(q: f32[B, S, 64], k: f32[B, S, 64], v: f32[B, S, 64], n: i32[B], m: i32[S]) -> (o: f32[B, S, 64]) "
                     "{\n  let s[b, i, j] = sum[d](q[b, i, d] * k[b, j, d]) * 0.125\n  o[b, i, d] = ",
                     c.sum, "\n}");
    for (const Device &device : kDevices) {
      auto kernel = sessionFor(device.target)->compile(text);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      auto run = [&](double poison, bool alsoKeys) {
        std::vector<HostTensor> t;
        for (int i = 0; i < 3; ++i)
          t.emplace_back(ElementType::f32, std::vector<int64_t>{B, S, D});
        t.emplace_back(ElementType::i32, std::vector<int64_t>{B});
        t.emplace_back(ElementType::i32, std::vector<int64_t>{S});
        t.emplace_back(ElementType::f32, std::vector<int64_t>{B, S, D});
        for (int i = 0; i < 3; ++i)
          fillRandom(t[size_t(i)], uint64_t(i + 1));
        for (int64_t b = 0; b < B; ++b)
          t[3].as<int32_t>()[b] = lengths[b];
        for (int64_t i = 0; i < S; ++i)
          t[4].as<int32_t>()[i] = int32_t((i * 37) % 80 - 5);
        for (int64_t b = 0; b < B; ++b)
          for (int64_t j : poisoned)
            for (int64_t d = 0; d < D; ++d)
              for (size_t x : {1, 2})
                if (x == 2 ? c.counts || d > j : alsoKeys && c.counts)
                  set(t[x], (b * S + j) * D + d, poison);
        EXPECT_EQ(runOnHost(**kernel, device.place, t), absl::OkStatus()) << device.target;
        return std::vector<float>(t[5].as<float>(), t[5].as<float>() + t[5].numElements());
      };
      for (bool alsoKeys : {false, true}) {
        const double poison = alsoKeys ? inf : nan;
        std::vector<float> clean = run(0, alsoKeys), got = run(poison, alsoKeys);
        for (int64_t at = 0; at < B * S * D; ++at) {
          int64_t b = at / (S * D), i = at / D % S;
          bool counts = c.counts && (c.counts(b, i, 23) || c.counts(b, i, 64) || c.counts(b, i, 65));
          ASSERT_TRUE(counts ? alsoKeys || std::isnan(got[at])
                             : std::memcmp(&got[at], &clean[at], 4) == 0 || (std::isnan(got[at]) && std::isnan(clean[at])))
              << c.sum << " on " << device.target << " at " << b << ", " << i << ": " << got[at] << ", " << clean[at];
        }
      }
    }
  }
}

/// The condition in the bracket, in the factor, and with the bound on the other side: one meaning.
TEST(ExcludedTerms, ConditionsOnSummedAndBatchIndicesHoldForBothFactors) {
  const char *spellings[] = {
      "sum[k, k < n[b]](a[b, i, k] * w[b, k, j])",
      "sum[k]((a[b, i, k] if k < n[b] else 0) * w[b, k, j])",
      "sum[k](a[b, i, k] * (0 if n[b] <= k else w[b, k, j]))",
      "sum[k, k + 4 < K](a[b, i, k] * w[b, k, j])",
  };
  const int64_t B = 2, M = 20, K = 36, N = 24;
  const int lengths[] = {17, 32};
  for (const char *type : {"bf16", "f32"})
    for (const char *sum : spellings) {
      std::string text = replaced(
          std::string("def f(a: T[B, M, K], w: T[B, K, N], n: i32[B]) -> (c: f32[B, M, N]) { c[b, i, j] = ") + sum + " }", "T", type);
      bool byData = std::string(sum).find("n[b]") != std::string::npos;
      ElementType element = std::string(type) == "f32" ? ElementType::f32 : ElementType::bf16;
      for (const Device &device : kDevices) {
        auto kernel = sessionFor(device.target)->compile(text);
        ASSERT_TRUE(kernel.ok()) << kernel.status();
        std::vector<HostTensor> t;
        t.emplace_back(element, std::vector<int64_t>{B, M, K});
        t.emplace_back(element, std::vector<int64_t>{B, K, N});
        t.emplace_back(ElementType::i32, std::vector<int64_t>{B});
        t.emplace_back(ElementType::f32, std::vector<int64_t>{B, M, N});
        auto a = [&](int64_t b, int64_t i, int64_t k) { return double((b + 3 * i + 5 * k) % 7 - 3); };
        auto w = [&](int64_t b, int64_t k, int64_t j) { return double((2 * b + k + 3 * j) % 5 - 2); };
        for (int64_t b = 0; b < B; ++b) {
          int64_t end = byData ? lengths[b] : K - 4;
          t[2].as<int32_t>()[b] = lengths[b];
          for (int64_t k = 0; k < K; ++k) {
            for (int64_t i = 0; i < M; ++i)
              set(t[0], (b * M + i) * K + k, k < end ? a(b, i, k) : std::numeric_limits<double>::infinity());
            for (int64_t j = 0; j < N; ++j)
              set(t[1], (b * K + k) * N + j, k < end ? w(b, k, j) : std::numeric_limits<double>::quiet_NaN());
          }
        }
        ASSERT_EQ(runOnHost(**kernel, device.place, t), absl::OkStatus()) << text << device.target;
        for (int64_t b = 0; b < B; ++b)
          for (int64_t i = 0; i < M; ++i)
            for (int64_t j = 0; j < N; ++j) {
              double expected = 0;
              for (int64_t k = 0; k < (byData ? lengths[b] : K - 4); ++k)
                expected += a(b, i, k) * w(b, k, j);
              ASSERT_EQ(t[3].as<float>()[(b * M + i) * N + j], expected)
                  << text << " on " << device.target << " at " << b << ", " << i << ", " << j;
            }
      }
    }
}

/// CUDA cores are exact where a condition ties rows to what is summed, whatever the tile holds for other rows.
TEST(ExcludedTerms, TiedConditionsAreExactOnCudaCores) {
  const double inf = std::numeric_limits<double>::infinity();
  const char *sums[] = {"sum[k, k <= i](a[i, k] * w[k, j])", "sum[k](a[i, k] * (w[k, j] if k <= i and i <= k + 9 else 0))",
                        "sum[k, k >= j](a[i, k] * w[k, j])", "sum[k, k <= i](a[i, k] * w[k, j] * s[i])"};
  const int64_t M = 40, N = 33;
  for (const char *sum : sums) {
    std::string text =
        std::string("def f(a: f32[M, M], w: f32[M, N], s: f32[M]) -> (c: f32[M, N]) {\n  require N <= M\n  c[i, j] = ") + sum + " }";
    auto counts = [&](int64_t i, int64_t j, int64_t k) { return sum == sums[1] ? k <= i && i <= k + 9 : sum == sums[2] ? k >= j : k <= i; };
    for (const Device &device : kDevices) {
      auto kernel = sessionFor(device.target)->compile(text);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      std::vector<HostTensor> t;
      t.emplace_back(ElementType::f32, std::vector<int64_t>{M, M});
      t.emplace_back(ElementType::f32, std::vector<int64_t>{M, N});
      t.emplace_back(ElementType::f32, std::vector<int64_t>{M});
      t.emplace_back(ElementType::f32, std::vector<int64_t>{M, N});
      auto a = [&](int64_t i, int64_t k) { return k == 30 && i % 4 == 0 ? inf : double((3 * i + 5 * k) % 7 + 1); };
      auto w = [&](int64_t k, int64_t j) { return (k == 11 && j % 3 == 0) || (k == 25 && j == 5) ? -inf : double((k + 3 * j) % 5 + 1); };
      for (int64_t i = 0; i < M; ++i) {
        set(t[2], i, double(i % 3 + 1));
        for (int64_t k = 0; k < M; ++k)
          set(t[0], i * M + k, a(i, k));
        for (int64_t j = 0; j < N; ++j)
          set(t[1], i * N + j, w(i, j));
      }
      ASSERT_EQ(runOnHost(**kernel, device.place, t), absl::OkStatus()) << text << device.target;
      for (int64_t i = 0; i < M; ++i)
        for (int64_t j = 0; j < N; ++j) {
          double expected = 0;
          for (int64_t k = 0; k < M; ++k)
            if (counts(i, j, k))
              expected += a(i, k) * w(k, j) * (sum == sums[3] ? double(i % 3 + 1) : 1);
          float got = t[3].as<float>()[i * N + j];
          ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : got == float(expected))
              << text << " on " << device.target << " at " << i << ", " << j << ": " << got << ", expected " << expected;
        }
    }
  }
}

/// `check` counts the NaN that a matrix unit lets through apart, and excuses none where a condition speaks of summed and batch
/// indices, on CUDA cores or on the CPU.
TEST(ExcludedTerms, CheckCountsWhatMatrixUnitsLetThrough) {
  struct {
    const char *type, *sum;
    bool admits;
  } cases[] = {{"bf16", "sum[k, k <= i](a[i, k] * w[k, j])", true},
               {"bf16", "sum[k, k < K - 8](a[i, k] * w[k, j])", false},
               {"f32", "sum[k, k <= i](a[i, k] * w[k, j])", false}};
  const int64_t M = 48, N = 40;
  for (const auto &c : cases)
    for (const Device &device : kDevices) {
      std::string text = absl::StrCat("def f(a: ", c.type, "[M, K], w: ", c.type, "[K, N]) -> (c: f32[M, N]) { c[i, j] = ", c.sum, " }");
      auto kernel = sessionFor(device.target)->compile(text);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      ElementType type = std::string(c.type) == "f32" ? ElementType::f32 : ElementType::bf16;
      std::vector<HostTensor> t;
      t.emplace_back(type, std::vector<int64_t>{M, M});
      t.emplace_back(type, std::vector<int64_t>{M, N});
      t.emplace_back(ElementType::f32, std::vector<int64_t>{M, N});
      fillRandom(t[0], 1);
      fillRandom(t[1], 2);
      for (int64_t j = 0; j < N; j += 3)
        set(t[1], (M - 2) * N + j, std::numeric_limits<double>::infinity());
      auto result = checkOnHost(**kernel, device.place, t);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_FALSE(result->failed) << text << device.target << result->text;
      EXPECT_EQ(result->outputs[0].admitted > 0, c.admits && device.place.kind != Place::Cpu) << text << device.target << result->text;
    }
}

} // namespace
} // namespace kernelc

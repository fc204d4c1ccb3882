// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules kept in the cache: which calls take them, and what happens to those that are stale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/compile/KernelIdentity.h"
#include "driver/jit/CacheQuestion.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"
#include "runtime/DiskCache.h"

namespace kernelc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kProduct[] = "def m(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";
constexpr char kSchedule[] = R"([{"kernel": "m", "launch": "c", "tiles": {"i": 64, "j": 128}, "stages": 3}])";

class Tuned : public testing::Test {
protected:
  void SetUp() override {
    ::unsetenv("KERNELC_UNTUNED");
    std::string folder = testing::TempDir() + "/kernelc-tuned-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    path_ = folder;
  }

  std::shared_ptr<Session> open(bool tuned = true) {
    SessionOptions o;
    o.cachePath = path_;
    o.tuned = tuned;
    o.remark = [this](const std::string &text) { remarks_.push_back(text); };
    return Session::create(o);
  }
  static std::vector<HostTensor> tensors(int64_t m, int64_t n, int64_t k) {
    std::vector<HostTensor> t;
    for (std::vector<int64_t> shape : {std::vector<int64_t>{m, k}, {n, k}, {m, n}})
      t.emplace_back(ElementType::bf16, shape);
    return t;
  }
  /// Keeps `schedule` for a call of these sizes.
  absl::Status keep(int64_t m, int64_t n, int64_t k, const char *text = kProduct, const std::string &schedule = kSchedule,
                    Constants constants = {}) {
    auto session = open();
    ProgramOptions options;
    options.schedule = schedule;
    options.constants = std::move(constants);
    auto kernel = session->compile(text, "", options);
    if (!kernel.ok())
      return kernel.status();
    auto t = tensors(m, n, k);
    std::vector<LaunchValue> values{t[0].deviceTensor(), t[1].deviceTensor(), t[2].deviceTensor()};
    return keepSchedule(**kernel, "sm_90a", values, schedule, "a test", session->cache());
  }
  /// The CUDA text that a call of these sizes gets from a new session.
  std::string textFor(int64_t m, int64_t n, int64_t k, const char *text = kProduct, bool tuned = true, Constants constants = {},
                      const std::string &target = "sm_90a") {
    remarks_.clear();
    auto session = open(tuned);
    ProgramOptions options;
    options.constants = std::move(constants);
    auto kernel = session->compile(text, "", options);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    auto t = tensors(m, n, k);
    auto variant = (*kernel)->variantFor(target, std::vector<LaunchValue>{t[0].deviceTensor(), t[1].deviceTensor(), t[2].deviceTensor()});
    EXPECT_TRUE(variant.ok()) << variant.status();
    return variant.ok() ? variant->variants[0].cudaText : "";
  }
  /// Replaces `what` in the one record that is kept.
  void edit(const std::string &what, const std::string &with) {
    auto session = open();
    for (const DiskCache::EntryInfo &e : session->cache().list())
      if (e.kind == DiskCache::Kind::Tuning) {
        auto payload = session->cache().get(e.kind, e.key);
        ASSERT_TRUE(payload);
        size_t at = payload->find(what);
        ASSERT_NE(at, std::string::npos) << *payload;
        session->cache().put(e.kind, e.key, payload->replace(at, what.size(), with));
      }
  }
  /// With the record edited so, the text is `before` and one remark says why.
  void expectPassedOver(const std::string &what, const std::string &with, const std::string &before,
                        const testing::Matcher<std::string> &why) {
    edit(what, with);
    EXPECT_EQ(textFor(512, 512, 256), before);
    ASSERT_THAT(remarks_, testing::SizeIs(1));
    EXPECT_THAT(remarks_[0], why);
  }

  std::string path_;
  std::vector<std::string> remarks_;
};

/// Whether the schedule that `text` names is kSchedule's, for a launch with the indices `i` and `j`.
bool isTaken(const std::string &text, const std::string &i = "i", const std::string &j = "j") {
  size_t at = text.find("// schedule: ");
  std::string line = at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  return line.find("tile " + i + " 64; tile " + j + " 128;") != std::string::npos && line.find("stages 3") != std::string::npos;
}

TEST_F(Tuned, CallsOfSuchSizesTakeIt) {
  std::string before = textFor(512, 512, 256);
  EXPECT_FALSE(isTaken(before));
  EXPECT_THAT(remarks_, IsEmpty());
  ASSERT_EQ(keep(512, 512, 256), absl::OkStatus());
  std::string after = textFor(512, 512, 256);
  EXPECT_TRUE(isTaken(after));
  EXPECT_THAT(remarks_, ElementsAre("m: the schedule is tuned, from a test, for M = 512, K = 256, N = 512"));
  EXPECT_EQ(textFor(512, 512, 256), after);  // the same input, the same bytes
  EXPECT_THAT(remarks_, testing::SizeIs(1)); // said of what comes from the cache too
  // Other sizes, another target, and who wants none of it.
  EXPECT_FALSE(isTaken(textFor(512, 1024, 256)));
  EXPECT_FALSE(isTaken(textFor(512, 512, 256, kProduct, true, {}, "sm_80")));
  EXPECT_EQ(textFor(512, 512, 256, kProduct, /*tuned=*/false), before);
  ::setenv("KERNELC_UNTUNED", "1", 1);
  EXPECT_EQ(textFor(512, 512, 256), before);
  ::unsetenv("KERNELC_UNTUNED");
}

TEST_F(Tuned, SizesOfOneVariantShareIt) {
  ASSERT_EQ(keep(1000, 504, 264), absl::OkStatus());
  EXPECT_TRUE(isTaken(textFor(1000, 504, 264)));
  EXPECT_TRUE(isTaken(textFor(904, 488, 280))); // the same bounds and divisors
  EXPECT_FALSE(isTaken(textFor(1001, 504, 264)));
}

TEST_F(Tuned, SizesMayBeFixedOnEitherSide) {
  ASSERT_EQ(keep(512, 512, 256, kProduct, kSchedule, {{"M", int64_t(512)}, {"K", int64_t(256)}}), absl::OkStatus());
  EXPECT_TRUE(isTaken(textFor(512, 512, 256)));
  EXPECT_TRUE(isTaken(textFor(512, 512, 256, kProduct, true, {{"N", int64_t(512)}})));
  EXPECT_FALSE(isTaken(textFor(512, 512, 320, kProduct, true, {{"N", int64_t(512)}})));
}

TEST_F(Tuned, NamesDoNotCountButWhatIsComputedDoes) {
  ASSERT_EQ(keep(512, 512, 256), absl::OkStatus());
  const char *other =
      "# The same.\ndef product(x: bf16[R, S],\n    y: bf16[C, S]) -> (out: bf16[R, C]) { out[r, c] = sum[s](x[r, s] * y[c, s]) }";
  EXPECT_TRUE(isTaken(textFor(512, 512, 256, other), "r", "c"));
  const char *scaled = "def m(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = 2 * sum[k](a[i, k] * b[j, k]) }";
  EXPECT_FALSE(isTaken(textFor(512, 512, 256, scaled)));
}

TEST_F(Tuned, WhatIsStaleIsSaidAndPassedOver) {
  std::string before = textFor(512, 512, 256);
  ASSERT_EQ(keep(512, 512, 256), absl::OkStatus());
  expectPassedOver(
      "\"kernelc\":\"", "\"kernelc\":\"9.", before,
      testing::AllOf(HasSubstr("m: the tuned schedule for sm_90a is not used: it was found with kernelc 9."), HasSubstr("tune again")));
  expectPassedOver("\"kernelc_tuning\":1", "\"kernelc_tuning\":2", before, HasSubstr("it is in another format"));
}

TEST_F(Tuned, WhatNoLongerHoldsIsSaidAndPassedOver) {
  std::string before = textFor(512, 512, 256);
  ASSERT_EQ(keep(512, 512, 256), absl::OkStatus());
  expectPassedOver("\"stages\":3", "\"stages\":60", before,
                   testing::AllOf(HasSubstr("is not used, because it no longer holds ("), HasSubstr("bytes of shared memory")));
  expectPassedOver("\"launch\":\"c\"", "\"launch\":\"z\"", before, HasSubstr("the schedule names launch 'z'"));
}

TEST_F(Tuned, OnlySchedulesThatHoldAreKept) {
  EXPECT_THAT(std::string(keep(512, 512, 256, kProduct, R"([{"kernel": "m", "launch": "c", "stages": 60}])").message()),
              HasSubstr("bytes of shared memory"));
  EXPECT_THAT(std::string(keep(0, 512, 256).message()), HasSubstr("tuned schedules belong to sizes"));
  EXPECT_FALSE(isTaken(textFor(512, 512, 256)));
}

TEST(TunedNames, AreRenamedWithWhatPassesAddToThem) {
  std::vector<std::string> from{"k", "k_low", "r", "s"}, to{"kk", "low", "a", "b_c"};
  EXPECT_EQ(renamed("k", from, to), "kk");
  EXPECT_EQ(renamed("k_high", from, to), "kk_high");
  EXPECT_EQ(renamed("k_low", from, to), "low");
  EXPECT_EQ(renamed("r_s", from, to), "a_b_c");
  EXPECT_EQ(renamed("sum2", from, to), "sum2");
  EXPECT_EQ(renamed("", from, to), "");
}

} // namespace
} // namespace kernelc

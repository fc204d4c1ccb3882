// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compilation under limits, with the real worker and with programs that are none.
#include "runtime/CompileProcess.h"

#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "test/runtime/CacheFixture.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

constexpr const char *kText = "#line 7 \"copy.kc\"\n"
                              "extern \"C\" __global__ void kc_copy(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x]; }\n";

/// Compile time grows faster than n: 1,000 take more than 20 seconds.
std::string chain(int n) {
  std::string s = "extern \"C\" __global__ void kc_long(float *y, const float *x) { float a = x[0];\n";
  for (int i = 0; i < n; ++i)
    absl::StrAppend(&s, "a = a * x[", i, "] + x[(int)a & 1023];\n");
  return s + "y[0] = a; }\n";
}

class CompileProcessTest : public CacheFixture {
protected:
  void SetUp() override {
    CacheFixture::SetUp();
    auto n = Nvrtc::load();
    if (!n.ok())
      GTEST_SKIP() << n.status();
    nvrtc = std::move(*n);
  }
  std::unique_ptr<Nvrtc> nvrtc;
  const std::string worker = KERNELC_TEST_NVRTC_WORKER;
};

TEST_F(CompileProcessTest, SameBytesAsInProcess) {
  auto here = nvrtc->compileToCubin(kText, "copy.cu", "sm_90a");
  auto there = CompileProcess(worker).compileToCubin(kText, "copy.cu", "sm_90a");
  ASSERT_TRUE(here.ok() && there.ok()) << there.status();
  EXPECT_EQ(here->bytes, there->bytes);
  EXPECT_EQ(here->kernels[0].registers, there->kernels[0].registers);
}

TEST_F(CompileProcessTest, ErrorsComeBackWhole) {
  std::string text = "#line 3 \"bad.kc\"\nextern \"C\" __global__ void f() { x; }";
  auto here = nvrtc->compileToCubin(text, "bad.cu", "sm_90a");
  auto there = CompileProcess(worker).compileToCubin(text, "bad.cu", "sm_90a");
  EXPECT_EQ(there.status(), here.status());
  EXPECT_THAT(std::string(there.status().message()), HasSubstr("bad.kc:3: error"));
}

TEST_F(CompileProcessTest, TimeIsBounded) {
  absl::Time start = absl::Now();
  auto r = CompileProcess(worker, {absl::Milliseconds(700)}).compileToCubin(chain(2000), "long.cu", "sm_90a");
  EXPECT_EQ(r.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("compiling long.cu for sm_90a took more than 700ms"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

// How NVRTC takes it depends on where it runs out; it must be an error, and contained.
TEST_F(CompileProcessTest, MemoryIsBounded) {
  auto r = CompileProcess(worker, {absl::Seconds(30), int64_t(110) << 20}).compileToCubin(kText, "copy.cu", "sm_90a");
  EXPECT_THAT(r.status().code(), testing::AnyOf(absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal)) << r.status();
  EXPECT_TRUE(CompileProcess(worker).compileToCubin(kText, "copy.cu", "sm_90a").ok()) << "the next one is fine";
}

TEST_F(CompileProcessTest, ProgramsThatAreNoWorkers) {
  EXPECT_EQ(CompileProcess("/nonexistent/worker").compileToCubin(kText, "a.cu", "sm_90a").status().code(), absl::StatusCode::kUnavailable);
  auto silent = CompileProcess("/bin/true").compileToCubin(std::string(1 << 20, ' '), "a.cu", "sm_90a");
  EXPECT_THAT(std::string(silent.status().message()), HasSubstr("ended with status 0 and no reply"));
  EXPECT_THAT(std::string(CompileProcess("/bin/false").compileToCubin(kText, "a.cu", "sm_90a").status().message()), HasSubstr("status 1"));
  // An echo is no reply either, and a request larger than a pipe must not lock up.
  EXPECT_EQ(CompileProcess("/bin/cat").compileToCubin(std::string(1 << 20, ' '), "a.cu", "sm_90a").status().code(),
            absl::StatusCode::kInternal);
}

TEST_F(CompileProcessTest, ThreadsCompileAtOnce) {
  CompileProcess process(worker);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { good += process.compileToCubin(kText, "copy.cu", "sm_80").ok(); });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(good, 4);
}

TEST_F(CompileProcessTest, ThroughTheCache) {
  auto cache = open();
  CompileProcess process(worker);
  auto first = cache->compile(*nvrtc, kText, "copy.cu", "sm_90a", {}, &process);
  ASSERT_TRUE(first.ok()) << first.status();
  CompileProcess broken("/bin/false");
  auto second = cache->compile(*nvrtc, kText, "copy.cu", "sm_90a", {}, &broken);
  ASSERT_TRUE(second.ok()) << "a hit needs no compiler: " << second.status();
  EXPECT_EQ(second->bytes, first->bytes);
  EXPECT_EQ(second->log, first->log);
  EXPECT_EQ(second->kernels.size(), 1u);
  EXPECT_FALSE(cache->compile(*nvrtc, kText, "copy.cu", "sm_80", {}, &broken).ok());
  EXPECT_FALSE(cache->compile(*nvrtc, kText, "copy.cu", "sm_80", {}, &broken).ok()) << "failures are not kept";
}

} // namespace
} // namespace kernelc

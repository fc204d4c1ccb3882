// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The doctor's report, with the fake driver and with nothing at all.
#include "runtime/Doctor.h"

#include "absl/strings/str_join.h"
#include "test/runtime/CacheFixture.h"
#include "test/runtime/FakeCuda.h"

namespace kernelc {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

class DoctorTest : public CacheFixture {
protected:
  void SetUp() override {
    CacheFixture::SetUp();
    fakecuda::reset();
    setenv("KERNELC_CACHE_DIR", path.c_str(), 1);
    setenv("KERNELC_LIBCUDA", KERNELC_FAKE_LIBCUDA, 1);
  }
  void TearDown() override {
    for (const char *v : {"KERNELC_CACHE_DIR", "KERNELC_LIBCUDA", "KERNELC_LIBNVRTC", "KERNELC_TYPO"})
      unsetenv(v);
    CacheFixture::TearDown();
  }
};

TEST_F(DoctorTest, ReportsWhatIsThere) {
  auto lines = doctorReport({{{"kernelc", "0.1.0"}}, {{"KERNELC_CACHE_DIR", "--cache-dir"}}});
  EXPECT_EQ(lines[0], "kernelc: 0.1.0");
  EXPECT_THAT(lines, Contains(StartsWith("driver: CUDA 13.0 from ")));
  EXPECT_THAT(lines, Contains("GPU 0: Fake H200, sm_90a, 132 SMs, 141.0 GiB"));
  EXPECT_THAT(lines, Contains("GPU 1: Fake H200, sm_90a, 132 SMs, 141.0 GiB"));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("cache: "), HasSubstr("0 entries"), HasSubstr(" of 2.0 GiB"))));
  EXPECT_THAT(lines, Contains(StartsWith("KERNELC_CACHE_DIR: " + path.string() + " from --cache-dir (")));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("KERNELC_LIBCUDA: "), HasSubstr("from the environment"))));
  EXPECT_THAT(lines, Contains(StartsWith("KERNELC_LAUNCH_BLOCKING: not set: 0")));
  EXPECT_THAT(lines, Contains(StartsWith("KERNELC_CLANG: ")));
}

TEST_F(DoctorTest, ReportsWhatIsMissing) {
  setenv("KERNELC_LIBCUDA", "/nonexistent/libcuda.so", 1);
  setenv("KERNELC_LIBNVRTC", "/nonexistent/libnvrtc.so", 1);
  setenv("KERNELC_CACHE_DIR", "/dev/null/cache", 1);
  setenv("KERNELC_TYPO", "1", 1);
  auto lines = doctorReport();
  EXPECT_THAT(lines, Contains(StartsWith("NVRTC: no NVRTC: tried /nonexistent/libnvrtc.so")));
  EXPECT_THAT(lines, Contains(StartsWith("driver: no CUDA driver")));
  EXPECT_THAT(lines, Contains(StartsWith("GPUs: none")));
  EXPECT_THAT(lines, Contains(StartsWith("cache: off: ")));
  EXPECT_THAT(lines, Contains("KERNELC_TYPO: set, but kernelc reads no such variable"));
  EXPECT_EQ(driverVersionText(), "no CUDA driver");
  EXPECT_EQ(nvrtcVersionText(), "no NVRTC");
}

TEST_F(DoctorTest, SilentGpuKeepsItsLine) {
  fakecuda::failCall(5, 999); // cuInit, version, count, get, name; then the memory query
  EXPECT_THAT(doctorReport(), Contains("GPU 0: Fake H200 (does not answer)"));
}

TEST(EnvironmentVariables, AreSorted) {
  const auto &v = environmentVariables();
  EXPECT_TRUE(std::is_sorted(v.begin(), v.end(), [](auto &a, auto &b) { return std::string(a.name) < b.name; }));
}

} // namespace
} // namespace kernelc

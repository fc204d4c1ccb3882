// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Real compilations. Needs libnvrtc, no GPU; visibly skipped without it.
#include "runtime/Nvrtc.h"

#include <cstdlib>
#include <set>
#include <thread>

#include <gmock/gmock.h>

namespace kernelc {
namespace {

using testing::HasSubstr;
using testing::Not;

class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    auto n = Nvrtc::load();
    if (!n.ok())
      GTEST_SKIP() << n.status();
    nvrtc = std::move(*n);
  }
  std::unique_ptr<Nvrtc> nvrtc;
};

TEST(NvrtcOptions, GoldenList) {
  EXPECT_THAT(Nvrtc::options("sm_90a"),
              testing::ElementsAre("-arch=sm_90a", "-std=c++17", "-default-device", "--fmad=false", "--no-source-include",
                                   "--ptxas-options=-v", "--ptxas-options=--warn-on-spills"));
}

TEST(NvrtcLoad, MissingLibraryNamesThePath) {
  auto n = Nvrtc::load("/nonexistent/libnvrtc.so.13");
  ASSERT_FALSE(n.ok());
  EXPECT_EQ(n.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(n.status().message()), HasSubstr("/nonexistent/libnvrtc.so.13"));
}

TEST(NvrtcLoad, ForeignLibraryIsRefused) {
  auto n = Nvrtc::load("libc.so.6");
  ASSERT_FALSE(n.ok());
  EXPECT_EQ(n.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(NvrtcLoad, EnvironmentOverrides) {
  setenv("KERNELC_LIBNVRTC", "/nonexistent/from_env.so", 1);
  auto n = Nvrtc::load();
  unsetenv("KERNELC_LIBNVRTC");
  ASSERT_FALSE(n.ok());
  EXPECT_THAT(std::string(n.status().message()), HasSubstr("from_env.so"));
}

TEST_F(NvrtcTest, KnowsItself) {
  EXPECT_GE(nvrtc->version().first, 12);
  EXPECT_FALSE(nvrtc->buildId().empty());
  EXPECT_THAT(nvrtc->architectures(), testing::Contains(90));
}

TEST_F(NvrtcTest, LeavesOutDeclarationsThatNoTextUses) {
  if (nvrtc->version() < std::pair(13, 0))
    GTEST_SKIP() << "NVRTC 12 may not know how";
  auto c = nvrtc->compileToCubin("#ifndef __CUDACC_RTC_MINIMAL__\n#error all of them\n#endif\nextern \"C\" __global__ void kc_f() {}\n",
                                 "f.cu", "sm_90a");
  EXPECT_TRUE(c.ok()) << c.status();
}

TEST_F(NvrtcTest, CompilesToCubin) {
  auto c = nvrtc->compileToCubin("#line 7 \"copy.kc\"\n"
                                 "extern \"C\" __global__ void kc_copy(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x]; }\n",
                                 "copy.cu", "sm_90a");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->bytes.substr(1, 3), "ELF");
  ASSERT_EQ(c->kernels.size(), 1u);
  EXPECT_EQ(c->kernels[0].entry, "kc_copy");
  EXPECT_GT(c->kernels[0].registers, 0);
  EXPECT_TRUE(c->diagnostics.empty());
}

TEST_F(NvrtcTest, SameTextSameBytes) {
  const char *text = "extern \"C\" __global__ void kc_f(float *y) { y[0] *= 2; }";
  auto a = nvrtc->compileToCubin(text, "a.cu", "sm_80"), b = nvrtc->compileToCubin(text, "b.cu", "sm_80");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->bytes, b->bytes);
}

TEST_F(NvrtcTest, NoContraction) {
  auto ptx = nvrtc->compileToPtx("extern \"C\" __global__ void kc_f(float *y) { y[0] = y[1] * y[2] + y[3]; }", "f.cu", "compute_90");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(*ptx, Not(HasSubstr("fma.rn.f32")));
}

TEST_F(NvrtcTest, ErrorsNameTheSource) {
  auto c =
      nvrtc->compileToCubin("#line 12 \"bad.kc\"\nextern \"C\" __global__ void kc_bad(float *x) { x[0] = y; z(); }\n", "bad.cu", "sm_90a");
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(c.status().message()), HasSubstr("bad.kc:12: error: identifier \"y\" is undefined"));
  EXPECT_THAT(std::string(c.status().message()), HasSubstr("\"z\""));
}

TEST_F(NvrtcTest, ErrorsFarBehindAMarkNameItsLine) {
  auto c = nvrtc->compileToCubin("#line 4 \"far.kc\"\nextern \"C\" __global__ void kc_far(float *x) {\n  float a = x[0];\n\n"
                                 "  x[1] = a;\n  x[0] = y;\n#line 9 \"far.kc\"\n  x[2] = a;\n  x[3] = z;\n}\n",
                                 "far.cu", "sm_90a");
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(std::string(c.status().message()), HasSubstr("far.kc:4: error: identifier \"y\" is undefined"));
  EXPECT_THAT(std::string(c.status().message()), HasSubstr("far.kc:9: error: identifier \"z\" is undefined"));
}

// What a profiler shows: no line but those that the marks name.
TEST_F(NvrtcTest, LineTablesFollowTheMarks) {
  const char *text = "#line 4 \"far.kc\"\nextern \"C\" __global__ void kc_far(float *x) {\n  float a = x[0];\n"
                     "  x[1] = a;\n  x[2] = a * a;\n#line 9 \"far.kc\"\n  x[3] = a + 1;\n  x[4] = a + 2;\n}\n";
  setenv("KERNELC_LINEINFO", "1", 1);
  auto ptx = nvrtc->compileToPtx(text, "far.cu", "sm_90a");
  unsetenv("KERNELC_LINEINFO");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr("far.kc"));
  std::set<std::string> lines;
  for (size_t at = ptx->find("\t.loc\t1 "); at != std::string::npos; at = ptx->find("\t.loc\t1 ", at + 1))
    lines.insert(ptx->substr(at + 8, ptx->find(' ', at + 8) - at - 8));
  EXPECT_THAT(lines, testing::ElementsAre("4", "9"));
  auto plain = nvrtc->compileToPtx(text, "far.cu", "sm_90a");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(*plain, testing::Not(HasSubstr(".loc")));
}

TEST_F(NvrtcTest, AssemblerErrorsAreReported) {
  auto c = nvrtc->compileToCubin("extern \"C\" __global__ void kc_bad() { asm volatile(\"bogus;\"); }", "bad.cu", "sm_90a");
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(std::string(c.status().message()), HasSubstr("bogus"));
}

TEST_F(NvrtcTest, UnknownArchitecture) {
  EXPECT_FALSE(nvrtc->compileToCubin("", "a.cu", "sm_12345").ok());
  EXPECT_FALSE(nvrtc->compileToCubin("", "a.cu", "compute_90").ok());
}

TEST_F(NvrtcTest, OptionsThatReadFilesAreRefused) {
  for (const char *o : {"-I/etc", "--include-path=/etc", "--pre-include=/etc/passwd", "--use-pch=x", "-time=/tmp/x", "--use_fast_math"}) {
    std::string option = o;
    auto c = nvrtc->compileToCubin("", "a.cu", "sm_90a", {option});
    EXPECT_EQ(c.status().code(), absl::StatusCode::kInvalidArgument) << o;
  }
  std::string lineInfo = "-lineinfo";
  EXPECT_TRUE(nvrtc->compileToCubin("extern \"C\" __global__ void f() {}", "a.cu", "sm_90a", {lineInfo}).ok());
}

// 96 live values per thread do not fit in 32 registers.
TEST_F(NvrtcTest, SpillsAreSeenAndLocated) {
  auto c = nvrtc->compileToCubin(R"(#line 30 "spill.kc"
extern "C" __global__ void __launch_bounds__(1024, 2) kc_spill(float *x, int n) {
  float a[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i] = x[i * n + threadIdx.x];
  for (int t = 0; t < n; ++t) {
#pragma unroll
    for (int i = 0; i < 96; ++i) a[i] = a[i] * a[(i + 7) % 96] + a[(i * 5) % 96];
  }
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * n + threadIdx.x] = a[i];
}
)",
                                 "spill.cu", "sm_90a");
  ASSERT_TRUE(c.ok()) << c.status();
  ASSERT_EQ(c->diagnostics.size(), 1u);
  EXPECT_EQ(c->diagnostics[0].code, "spill");
  EXPECT_EQ(c->diagnostics[0].loc.file, "spill.kc");
  EXPECT_EQ(c->diagnostics[0].loc.line, 30);
  EXPECT_GT(c->kernels[0].spillStoreBytes, 0);
}

TEST_F(NvrtcTest, SerialisedWgmmaAndIgnoredSetmaxnregAreSeen) {
  auto c = nvrtc->compileToCubin(R"(#line 5 "mm.kc"
extern "C" __global__ void kc_wg(float *x, unsigned long long a, unsigned long long b, int n) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;");
  for (int i = 0; i < n; ++i) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    d[0] += x[i];
  }
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  x[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
)",
                                 "mm.cu", "sm_90a");
  ASSERT_TRUE(c.ok()) << c.status();
  auto has = [&](const char *code) {
    for (const CompileDiagnostic &d : c->diagnostics)
      if (d.code == code && d.severity == CompileDiagnostic::PerformanceError && d.loc.file == "mm.kc" && d.loc.line == 5)
        return true;
    return false;
  };
  EXPECT_TRUE(has("C7508")) << c->log;
  EXPECT_TRUE(has("C7511") || has("C7510") || has("C7512") || has("C7513") || has("C7514")) << c->log;
}

TEST_F(NvrtcTest, ThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<absl::Status> status(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      std::string text = "extern \"C\" __global__ void kc_f(float *y) { y[0] *= " + std::to_string(i) + "; }";
      status[i] = nvrtc->compileToCubin(text, "f.cu", "sm_90a").status();
    });
  for (auto &t : threads)
    t.join();
  for (auto &s : status)
    EXPECT_TRUE(s.ok()) << s;
}

} // namespace
} // namespace kernelc

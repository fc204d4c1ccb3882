// What a kernel has to do and the least time that takes.
#include "driver/Roofline.h"

#include "gtest/gtest.h"
#include "support/Target.h"
#include "support/TargetRates.h"

namespace kernelc {
namespace {

const PeakRates kPeaks{1e12, 1e13, 1e15};

TEST(Roofline, IsTheLongestOfTheLimits) {
  Roofline r = rooflineOf({2'000'000, 1000, 0}, kPeaks);
  EXPECT_DOUBLE_EQ(r.seconds, 2e-6);
  EXPECT_STREQ(r.bound, "memory");
  r = rooflineOf({1000, 50'000'000, 0}, kPeaks);
  EXPECT_DOUBLE_EQ(r.seconds, 5e-6);
  EXPECT_STREQ(r.bound, "CUDA cores");
  r = rooflineOf({1000, 3'000'000'000, 3'000'000'000}, kPeaks); // all of it on matrix units
  EXPECT_DOUBLE_EQ(r.seconds, 3e-6);
  EXPECT_STREQ(r.bound, "matrix units");
  r = rooflineOf({1000, 3'000'000'000, 0, 3'000'000'000}, kPeaks); // the same in tf32
  EXPECT_DOUBLE_EQ(r.seconds, 6e-6);
}

TEST(Roofline, IsUnknownWhereARateItNeedsIs) {
  EXPECT_EQ(rooflineOf({1000, 10, 10}, {1e12, 1e13, 0}).seconds, 0);
  EXPECT_GT(rooflineOf({1000, 10, 0}, {1e12, 1e13, 0}).seconds, 0);
  EXPECT_EQ(rooflineOf({1000, 10, 0}, {}).seconds, 0);
}

TEST(WorkCount, KnowsWhatMatrixUnitsCanDo) {
  const char *text = "def f(x: bf16[M, K], w: bf16[N, K], s: f32[M, K], t: f32[N, K]) -> (y: f32[M, N], z: f32[M, N]) {\n"
                     "  y[i, j] = sum[k](x[i, k] * w[j, k]) + 1.0\n"
                     "  z[i, j] = sum[k](s[i, k] * t[j, k])\n}\n";
  auto program = Program::create(text, {});
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<Kernel> kernels = (*program)->kernels();
  ASSERT_EQ(kernels[0].sizes.size(), 3u);
  auto work = countWork(**program, kernels[0], {4, 4, 4});
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->bytes, 2 * 16 * 2 + 4 * 16 * 4);
  EXPECT_EQ(work->matrixFlops, 2 * 64);
  EXPECT_EQ(work->flops, 2 * 64 + 16 + 2 * 64);
  EXPECT_EQ(work->tf32Flops, 0);
  ProgramOptions tf32;
  ASSERT_TRUE(addPrecision(tf32.precision, "contract=tf32").ok());
  program = Program::create(text, tf32);
  ASSERT_TRUE(program.ok()) << program.status();
  work = countWork(**program, (*program)->kernels()[0], {4, 4, 4});
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->matrixFlops, 2 * 64);
  EXPECT_EQ(work->tf32Flops, 2 * 64);
}

TEST(TargetRates, EveryTargetHasThem) {
  for (const Target &t : allTargets()) {
    const TargetRates *r = findTargetRates(t.name);
    ASSERT_NE(r, nullptr) << t.name;
    EXPECT_GT(r->f32, 0);
    EXPECT_GT(r->matrix16, r->f32);
  }
  EXPECT_EQ(allTargetRates().size(), allTargets().size());
  // 132 multiprocessors at 1.83 GHz: the H100's 989 TFLOP/s.
  EXPECT_NEAR(2.0 * 132 * 1.83e9 * findTargetRates("sm_90a")->matrix16 / 1e12, 989, 1);
}

} // namespace
} // namespace kernelc

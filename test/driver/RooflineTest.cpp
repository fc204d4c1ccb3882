// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel has to do and the least time that takes.
#include "driver/roofline/Roofline.h"

#include "support/Target.h"
#include "support/TargetRates.h"
#include "gtest/gtest.h"

namespace kernelc {
namespace {

const PeakRates kPeaks{1e12, 1e13, 1e15, 5e12};

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
  r = rooflineOf({.bytes = 1000, .intOps = 4'000'000'000, .matrixIntOps = 4'000'000'000}, kPeaks); // integers of 8 bits
  EXPECT_DOUBLE_EQ(r.seconds, 2e-6);
  EXPECT_STREQ(r.bound, "matrix units");
  r = rooflineOf({.bytes = 1000, .intOps = 10'000'000}, kPeaks);
  EXPECT_DOUBLE_EQ(r.seconds, 2e-6);
  EXPECT_STREQ(r.bound, "CUDA cores");
}

TEST(Roofline, IsUnknownWhereARateItNeedsIs) {
  EXPECT_EQ(rooflineOf({1000, 10, 10}, {1e12, 1e13, 0}).seconds, 0);
  EXPECT_GT(rooflineOf({1000, 10, 0}, {1e12, 1e13, 0}).seconds, 0);
  EXPECT_EQ(rooflineOf({1000, 10, 0}, {}).seconds, 0);
  EXPECT_EQ(rooflineOf({.bytes = 1000, .intOps = 10}, {1e12, 1e13, 1e15}).seconds, 0);
}

TEST(TargetRates, EveryTargetHasThem) {
  for (const Target &t : allTargets()) {
    const TargetRates *r = findTargetRates(t.name);
    ASSERT_NE(r, nullptr) << t.name;
    EXPECT_GT(r->f32, 0);
    EXPECT_GT(r->int32, 0);
    EXPECT_GT(r->matrix16, r->f32);
  }
  EXPECT_EQ(allTargetRates().size(), allTargets().size());
  // 132 multiprocessors at 1.83 GHz: the H100's 989 TFLOP/s.
  EXPECT_NEAR(2.0 * 132 * 1.83e9 * findTargetRates("sm_90a")->matrix16 / 1e12, 989, 1);
}

} // namespace
} // namespace kernelc

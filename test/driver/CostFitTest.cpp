// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `tune --fit` makes of records: factors that were planted are found, and the error is that of what was held out.
#include "driver/tune/CostFit.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

/// A kernel of one launch, whose memory takes 1.5 times as long as the model says, and whose launch 2 times.
std::string lineOf(int kernel, double memory, double tensor) {
  double us = std::max(1.5 * memory, tensor) + 1 + 2 * 3;
  return absl::StrCat("{\"kernel\": \"k", kernel, "\", \"sizes\": {\"M\": ", kernel, "}, \"median_us\": ", us,
                      ", \"launches\": [{\"memory\": ", memory, ", \"tensor\": ", tensor, ", \"fill\": 1.0, \"start\": 3.0}]}\n");
}

TEST(CostFit, FindsWhatWasPlanted) {
  std::string text = "{\"kernel\": \"refused\", \"rejected\": \"spills\"}\n";
  for (int i = 1; i <= 40; ++i)
    text += i % 2 ? lineOf(i, 3.0 * i, 1) : lineOf(i, 1, 5.0 * i);
  absl::StatusOr<std::vector<CostSample>> samples = readSamples(text, "records.jsonl");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->size(), 40u);
  absl::StatusOr<CostFit> fit = fitCosts(*samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->fitted + fit->heldOut, 40u);
  EXPECT_GT(fit->before, 0.05);
  EXPECT_LT(fit->after, 0.02);
  for (const auto &[term, factor] : fit->factors)
    if (term == "memory")
      EXPECT_NEAR(factor, 1.5, 0.03);
}

TEST(CostFit, TakesRecordsOfSeveralKernels) {
  absl::StatusOr<std::vector<CostSample>> one = readSamples(lineOf(1, 2, 3), "records.jsonl");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(fitCosts(*one).status().message(), "a fit takes records of two kernels or sizes at least, with times and terms");
  EXPECT_EQ(readSamples("{", "records.jsonl").status().code(), absl::StatusCode::kInvalidArgument);
}

} // namespace
} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Spelling.h"

#include "gtest/gtest.h"

namespace kernelc {
namespace {

TEST(Spelling, ExchangedNeighboursAreOneStep) {
  EXPECT_EQ(spellingDistance("bais", "bias"), 1u);
  EXPECT_EQ(spellingDistance("reqire", "require"), 1u);
  EXPECT_EQ(spellingDistance("ca", "abc"), 3u); // no letter moves twice
  EXPECT_EQ(spellingDistance("", "abc"), 3u);
  EXPECT_EQ(spellingDistance("kitten", "sitting"), 3u);
}

TEST(Spelling, NearIsAThirdOfTheLetters) {
  EXPECT_EQ(findNearest("esp", {"eps", "x"}), "eps");
  EXPECT_EQ(findNearest("sgimoid", {"sigmoid", "silu"}), "sigmoid");
  EXPECT_EQ(findNearest("x", {"y", "z"}), ""); // nothing in common
  EXPECT_EQ(findNearest("abc", {"xyz"}), "");
  EXPECT_EQ(findNearest("x", {"x"}), ""); // the word itself is no suggestion
}

TEST(Spelling, CaseAloneIsNearestAndTiesAreAlphabetical) {
  EXPECT_EQ(findNearest("n", {"N"}), "N");
  EXPECT_EQ(findNearest("sot", {"set", "SOT"}), "SOT");
  EXPECT_EQ(findNearest("cat", {"rat", "bat"}), "bat");
}

} // namespace
} // namespace kernelc

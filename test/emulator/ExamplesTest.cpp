// Every example, compiled for sm_80 and sm_90a, on the emulator at small awkward
// sizes: no findings, every output within the oracle's bound; and how many of the
// mutants of a few of them the checks detect. The seed is in the test's name.
#include "test/emulator/ExampleHarness.h"

#include "emulator/Mutate.h"

namespace kernelc::emulator {
namespace {

class Examples : public ::testing::TestWithParam<Case> {};

TEST_P(Examples, AgreeWithTheOracleWithoutFindings) {
  CompiledExample e = compileExample(GetParam());
  if (!e.skip.empty()) // a diagnostic is an answer, a crash is not
    GTEST_SKIP() << "the compiler does not support it yet: " << e.skip;
  ASSERT_EQ(e.error, "");
  EXPECT_EQ(compareWithOracle(e, 20251121, 3), "") << e.variant().cudaText;
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(allCases()), [](const auto &info) {
  return info.param.kernel + "_" + info.param.target + (info.param.general ? "_general" : "") +
         "_seed20251121";
});

class ExampleMutants : public ::testing::TestWithParam<Case> {};

TEST_P(ExampleMutants, AreDetected) {
  CompiledExample e = compileExample(GetParam());
  if (!e.skip.empty())
    GTEST_SKIP() << e.skip;
  ASSERT_EQ(e.error, "");
  auto picked = pickArguments(e, 7, 4);
  std::vector<RunArguments> runs;
  for (auto &p : picked)
    runs.push_back(p->args);
  auto score = measureMutants(e.kernel, e.variant(), runs);
  ASSERT_TRUE(score.ok()) << score.status();
  EXPECT_GE(score->percent(), 98.0) << score->toString();
}

/// Where every synchronisation and mask is needed. Pipelined products keep guards
/// of loads that masks make harmless anyway; `kernelc check --mutate` reports them.
std::vector<Case> tightCases() {
  std::vector<Case> cases;
  for (const Case &c : allCases())
    if (c.target == "sm_90a" && (c.kernel == "softmax_rows" || c.kernel == "row_logsumexp" ||
                                 c.kernel == "layer_norm" || c.kernel == "transpose"))
      cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Tight, ExampleMutants, ::testing::ValuesIn(tightCases()),
                         [](const auto &info) { return info.param.kernel; });

} // namespace
} // namespace kernelc::emulator

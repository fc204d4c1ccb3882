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
  auto runner = KernelRunner::create(e.kernel, e.variant());
  ASSERT_TRUE(runner.ok()) << runner.status();
  auto runs = pickArguments(e, 20251121, 3);
  EXPECT_FALSE(runs.empty()) << "no sizes satisfy the guard " << e.variant().guardText;
  for (auto &run : runs) {
    SCOPED_TRACE(run->sizes);
    auto before = run->storage;
    auto report = runner->run(run->args);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_TRUE(report->ok()) << report->toString() << e.variant().cudaText;
    std::vector<TensorView> ins, outs;
    for (size_t i = 0; i < e.kernel.params.size(); i++) {
      TensorView v = run->args.params[i];
      ParamKind kind = e.kernel.params[i].kind;
      if (kind != ParamKind::Input && kind != ParamKind::Scalar)
        outs.push_back(v);
      if (kind != ParamKind::Output) {
        v.data = before[i].data();
        ins.push_back(v);
      }
    }
    auto check = reference::checkOutputs(*e.oracle, run->args.sizes, ins, outs);
    ASSERT_TRUE(check.ok()) << check.status();
    ASSERT_TRUE(check->passed()) << check->toString();
  }
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
  std::printf("%s: %s", GetParam().kernel.c_str(), score->toString().c_str());
  EXPECT_GE(score->percent(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(All, ExampleMutants, ::testing::ValuesIn(allCases()), [](const auto &info) {
  return info.param.kernel + "_" + info.param.target + (info.param.general ? "_general" : "");
});

} // namespace
} // namespace kernelc::emulator

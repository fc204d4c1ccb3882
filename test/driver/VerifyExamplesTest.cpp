// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Examples keep their meaning through every pass at small awkward sizes: in CI one of each
// kind through te and tile; with KERNELC_VERIFY_ALL=1 all of them for sm_80 and sm_90a, with
// KERNELC_VERIFY_CU=1 through cu as well, where each pass is a build and a run on the emulator.
#include "driver/verify/VerifyEach.h"
#include "test/emulator/ExampleHarness.h"

namespace kernelc::emulator {
namespace {

class VerifyExamples : public ::testing::TestWithParam<Case> {};

TEST_P(VerifyExamples, EveryPassKeepsTheMeaning) {
  const Case &c = GetParam();
  CompiledExample e = compileExample({c.file, c.kernel, c.target, /*general=*/true});
  if (!e.skip.empty()) // a diagnostic is an answer, a crash is not
    GTEST_SKIP() << "the compiler does not support it yet: " << e.skip;
  ASSERT_EQ(e.error, "");
  SessionOptions options;
  options.diskCache = false;
  std::shared_ptr<Session> session = Session::create(options);
  auto kernel = session->compile(readFile(c.file), c.kernel);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  bool thorough = std::getenv("KERNELC_VERIFY_CU") != nullptr;
  auto runs = pickArguments(e, 20261122, thorough ? 2 : 1, {.maxWork = thorough ? 1e6 : 5e4});
  ASSERT_FALSE(runs.empty());
  for (auto &run : runs) {
    std::vector<HostTensor> tensors;
    for (const TensorView &v : run->args.params) {
      tensors.emplace_back(v.type, v.shape);
      std::memcpy(tensors.back().data(), v.data, tensors.back().bytes());
    }
    VerifyOptions verify;
    verify.target = c.target;
    verify.runCu = thorough;
    auto verdicts = verifyPasses(**kernel, tensors, run->args.sizes, verify);
    ASSERT_TRUE(verdicts.ok()) << run->sizes << verdicts.status();
    EXPECT_GT(verdicts->size(), 5u);
    for (const PassVerdict &v : *verdicts)
      EXPECT_TRUE(v.passed) << run->sizes << "after " << v.pass << "\n" << v.text;
  }
}

std::vector<Case> eachTarget() {
  std::vector<Case> cases = allCases();
  const std::vector<std::string> kinds = {"concat", "layer_norm", "max_pool", "nt", "quantize", "row_argmax", "triangular"};
  bool all = std::getenv("KERNELC_VERIFY_ALL");
  std::erase_if(cases, [&](const Case &c) {
    return c.general || (!all && (c.target == "sm_80" || std::find(kinds.begin(), kinds.end(), c.kernel) == kinds.end()));
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyExamples, ::testing::ValuesIn(eachTarget()),
                         [](const auto &info) { return info.param.kernel + "_" + info.param.target; });

} // namespace
} // namespace kernelc::emulator

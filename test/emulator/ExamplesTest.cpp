// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every example, compiled for sm_80 and sm_90a, on the emulator at small awkward
// sizes: no findings, every output within the oracle's bound. The seed is in the test's name.
#include "test/emulator/ExampleHarness.h"

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
  return info.param.kernel + "_" + info.param.target + (info.param.general ? "_general" : "") + "_seed20251121";
});

/// The line of `text` that holds its nth character, from 1.
int lineOf(const std::string &text, size_t at) { return 1 + int(std::count(text.begin(), text.begin() + int64_t(at), '\n')); }

TEST(ExampleFindings, NameTheCudaLineAndTheSourceLine) {
  CompiledExample e = compileText("def normal(x: f32[M, N]) -> (y: f32[M, N]) {\n"
                                  "  let s[i] = max[j](x[i, j])\n"
                                  "  let t[i] = sum[j](exp(x[i, j] - s[i]))\n"
                                  "  y[i, j] = x[i, j] / t[i]\n"
                                  "}\n",
                                  "folder/normal.kc", {"", "normal", "sm_80"});
  ASSERT_EQ(e.error + e.skip, "");
  // Without the barrier of the first reduction, line 2.
  std::string &text = e.kernel.variants[0].cudaText;
  size_t barrier = text.find("__syncthreads();"), write = text.rfind("partials[warp] = ", barrier);
  ASSERT_NE(barrier, std::string::npos) << text;
  ASSERT_NE(write, std::string::npos) << text;
  text.replace(barrier, 16, ";               ");
  EmulatorOptions options;
  options.seed = 1; // in order, the first threads would read what nobody has written yet
  auto runner = KernelRunner::create(e.kernel, e.variant(), options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  auto run = pickArguments(e, 1, 1);
  ASSERT_FALSE(run.empty());
  auto report = runner->run(run[0]->args);
  ASSERT_TRUE(report.ok()) << report.status();
  auto race = llvm::find_if(report->findings, [](const Finding &f) { return f.kind == FindingKind::DataRace; });
  ASSERT_NE(race, report->findings.end()) << report->toString() << text;
  const Finding &f = *race;
  const Party &writer = f.first.what == "write" ? f.first : f.second;
  EXPECT_EQ(writer.where.line, lineOf(text, write)) << text;
  for (const Party &p : {f.first, f.second}) {
    EXPECT_EQ(p.where.sourceFile, "normal.kc");
    EXPECT_EQ(p.where.sourceLine, 2);
  }
  EXPECT_THAT(f.message, ::testing::HasSubstr("(normal.kc:2)"));
}

// A scan in one pass waits for words of the workspace, which a launch before it has to reset.
TEST(ExampleFindings, WordsOfLookBackThatNobodyReset) {
  for (const char *type : {"f32", "i64"})
    for (const char *target : {"sm_80", "sm_90a"}) {
      std::string text = absl::StrCat("def prefix(x: ", type, "[N]) -> (y: ", type, "[N]) { y[i] = sum[k in 0:i + 1](x[k]) }\n");
      CompiledExample e = compileText(text, "prefix.kc", {"", "prefix", target, false, {{"N", 70000}}});
      ASSERT_EQ(e.error + e.skip, "");
      std::vector<Launch> &launches = e.kernel.variants[0].launches;
      ASSERT_GT(launches.size(), 1u) << e.variant().cudaText;
      EXPECT_THAT(launches.front().entry, ::testing::HasSubstr("words"));
      auto run = pickArguments(e, 1, 1, {.only = {{"N", 70000}}});
      ASSERT_FALSE(run.empty());
      auto report = [&] {
        auto report = runKernel(e.kernel, e.variant(), run[0]->args);
        EXPECT_TRUE(report.ok()) << report.status();
        return *report;
      };
      EXPECT_TRUE(report().ok()) << report().toString();
      launches.erase(launches.begin());
      Report r = report();
      EXPECT_NE(llvm::find_if(r.findings, [](const Finding &f) { return f.kind == FindingKind::Uninitialised; }), r.findings.end())
          << type << " " << target << r.toString();
    }
}

/// `text` without the fences of those who read a slot and give it back, as it was emitted once.
std::string withoutFencesOfReaders(std::string text) {
  const std::string fence = "kc_fence_proxy_async();\n";
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    size_t next = text.find_first_not_of(' ', at + fence.size());
    if (text.compare(next, 12, "__syncwarp()") == 0)
      text.erase(at, fence.size() - 1);
  }
  return text;
}

struct SlotReaders {
  const char *name, *file, *kernel, *schedule;
};
class ExampleProxyFences : public ::testing::TestWithParam<SlotReaders> {};

TEST_P(ExampleProxyFences, OfReadersAreMissed) {
  const SlotReaders &c = GetParam();
  auto schedule = [&](mlir::ModuleOp, const VariantOptions &) { return std::string(c.schedule); };
  CompiledExample e = compileText(readFile(std::string(KERNELC_EXAMPLES) + "/" + c.file), c.file, {"", c.kernel, "sm_90a"}, schedule);
  ASSERT_EQ(e.error + e.skip, "");
  auto run = pickArguments(e, 1, 1, {.only = {{"M", 72}, {"N", 264}, {"K", 520}}});
  ASSERT_FALSE(run.empty());
  auto report = [&] {
    auto runner = KernelRunner::create(e.kernel, e.variant(), {});
    EXPECT_TRUE(runner.ok()) << runner.status();
    auto report = runner->run(run[0]->args);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  };
  EXPECT_TRUE(report().ok()) << report().toString();
  std::string &text = e.kernel.variants[0].cudaText, before = text;
  text = withoutFencesOfReaders(text);
  ASSERT_NE(text, before);
  Report r = report();
  auto missing = llvm::find_if(r.findings, [](const Finding &f) { return f.kind == FindingKind::ProxyFence; });
  ASSERT_NE(missing, r.findings.end()) << r.toString();
  EXPECT_THAT(missing->message, ::testing::HasSubstr("without fence.proxy.async by the reader"));
  EXPECT_EQ(missing->first.where.sourceFile, c.file);
  EXPECT_EQ(missing->second.what, "read");
}

INSTANTIATE_TEST_SUITE_P(
    Hopper, ExampleProxyFences,
    ::testing::Values(SlotReaders{"residual", "linear_residual.kc", "linear_residual", ""},
                      SlotReaders{"products", "sum_of_products.kc", "sum_of_products", ""},
                      SlotReaders{"mma", "linear.kc", "linear",
                                  R"([{"kernel": "linear", "launch": "y", "unit": "mma", "warps": 4, "producer_warps": 4}])"},
                      SlotReaders{"simt", "linear.kc", "linear",
                                  R"([{"kernel": "linear", "launch": "y", "unit": "simt", "warps": 4, "producer_warps": 4}])"}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of a kernel's plans is kept, by what a compiler that is made up says of their code.
#include "driver/jit/PlanChoice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/match.h"

namespace kernelc {
namespace {

constexpr char kRows[] = "def rows(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }";
constexpr char kAttention[] = R"(
def attention(q: bf16[B, N, D], k: bf16[B, N, D], v: bf16[B, N, D]) -> (o: bf16[B, N, D]) {
  let p[b, i, j] = softmax[j](sum[d](q[b, i, d] * k[b, j, d]))
  o[b, i, d] = sum[j](bf16(p[b, i, j]) * v[b, j, d])
})";

class PlanChoiceTest : public testing::Test {
protected:
  PlanChoiceTest() {
    std::string folder = testing::TempDir() + "/kernelc-plans-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    DiskCache::Options options;
    options.path = folder;
    cache_ = DiskCache::open(options);
  }

  /// The kernel whose code spills as `spills` says of a plan's line, and how many were compiled.
  Kernel choose(std::shared_ptr<Program> program, absl::FunctionRef<int64_t(const std::string &)> spills, std::string nvrtc = "13.0",
                bool mayCompile = true) {
    VariantOptions options;
    options.facts["N"] = {4096, 4096, 4096};
    for (const SizeRecipe &size : program->kernels()[0].sizes)
      if (size.name == "D")
        options.facts["D"] = {64, 64, 64};
    Kernel kernel = program->kernels()[0];
    EXPECT_TRUE(program->withModule([&](mlir::ModuleOp module) { return addVariant(module, options, kernel); }).ok());
    compiled_ = 0;
    auto compile = [&](const Variant &variant) -> absl::StatusOr<VariantCode> {
      ++compiled_;
      VariantCode code;
      code.units.push_back({{variant.launches[0].entry}, variant.cudaText});
      code.cubins.emplace_back();
      KernelResources r;
      r.entry = variant.launches[0].entry;
      r.spillStoreBytes = spills(variant.launches[0].schedule);
      code.cubins[0].kernels.push_back(r);
      return code;
    };
    keepBestPlan({*cache_, nvrtc, compile, mayCompile}, *program, options, kernel);
    return kernel;
  }

  static std::shared_ptr<Program> parse(std::string schedule = "", const char *text = kRows) {
    ProgramOptions options;
    options.schedule = schedule;
    absl::StatusOr<std::shared_ptr<Program>> program = Program::create(text, options);
    EXPECT_TRUE(program.ok()) << program.status();
    return *program;
  }

  std::unique_ptr<DiskCache> cache_;
  int compiled_ = 0;
};

TEST_F(PlanChoiceTest, KeepsAFirstPlanThatIsWell) {
  Kernel kernel = choose(parse(), [](const std::string &) { return 0; });
  EXPECT_EQ(compiled_, 1);
  EXPECT_THAT(kernel.variants[0].remarks, testing::IsEmpty());
}

TEST_F(PlanChoiceTest, TakesTheNextPlanAndRemembersIt) {
  std::string first = choose(parse(), [](const std::string &) { return 0; }).variants[0].launches[0].schedule;
  auto firstSpills = [&](const std::string &schedule) { return schedule == first ? 48 : 0; };
  Kernel kernel = choose(parse(), firstSpills);
  EXPECT_NE(kernel.variants[0].launches[0].schedule, first);
  EXPECT_THAT(kernel.variants[0].remarks, testing::ElementsAre("plan 1 not kept: launch 'kc_rows' spills 48 bytes a thread"));
  EXPECT_EQ(compiled_, 2);
  std::string kept = kernel.variants[0].launches[0].schedule;
  kernel = choose(parse(), firstSpills);
  EXPECT_EQ(kernel.variants[0].launches[0].schedule, kept);
  EXPECT_EQ(compiled_, 0);
  choose(parse(), firstSpills, "13.1"); // another compiler may do better
  EXPECT_EQ(compiled_, 2);
}

// What warps that fill slots keep beyond the least goes to those that multiply, before anything slower is tried.
TEST_F(PlanChoiceTest, TakesRegistersOfWarpsThatFill) {
  auto spills = [](const std::string &schedule) { return absl::StrContains(schedule, "that fill 24") ? 0 : 8; };
  Kernel kernel = choose(parse("", kAttention), spills);
  EXPECT_THAT(kernel.variants[0].launches[0].schedule, testing::HasSubstr("registers of those that fill 24"));
  EXPECT_EQ(compiled_, 2);
}

// Under `tiered`: fast code, which spills more, and full code are made of one plan, so that their bits agree.
TEST_F(PlanChoiceTest, TriesNoPlanWhereNothingMayBeCompiled) {
  std::string first = choose(parse(), [](const std::string &) { return 0; }, "13.1").variants[0].launches[0].schedule;
  auto firstSpills = [&](const std::string &schedule) { return schedule == first ? 48 : 0; };
  Kernel kernel = choose(parse(), firstSpills, "13.0", /*mayCompile=*/false);
  EXPECT_EQ(kernel.variants[0].launches[0].schedule, first);
  EXPECT_EQ(compiled_, 0);
}

TEST_F(PlanChoiceTest, KeepsTheFirstWhereOthersAreNoBetter) {
  Kernel kernel = choose(parse(), [](const std::string &) { return 48; });
  EXPECT_GT(compiled_, 2);
  ASSERT_FALSE(kernel.variants[0].remarks.empty());
  for (const std::string &r : kernel.variants[0].remarks)
    EXPECT_FALSE(absl::StartsWith(r, "plan 1 ")) << r;
}

// A tile of 16384 for rows of 9001 computes half as much again for nothing; rounds of a row take few registers.
TEST_F(PlanChoiceTest, WalksRowsThatAreHeldForLittle) {
  constexpr char kText[] = "def rows(x: f32[M, 9001]) -> (y: f32[M]) {\n"
                           "  let s[i] = sum[j](exp(x[i, j]))\n"
                           "  y[i] = sum[j](exp(x[i, j]) * log(1 + exp(x[i, j]) / s[i]))\n"
                           "}\n";
  auto spills = [](const std::string &schedule) { return absl::StrContains(schedule, "tile j 16384") ? 48 : 0; };
  Kernel kernel = choose(parse("", kText), spills);
  EXPECT_EQ(compiled_, 2);
  EXPECT_THAT(kernel.variants[0].launches[0].schedule, testing::HasSubstr("tile j 1024"));
}

TEST_F(PlanChoiceTest, LeavesLaunchesThatAScheduleSpeaksOf) {
  Kernel kernel = choose(parse(R"([{"kernel": "rows", "launch": "y", "warps": 4}])"), [](const std::string &) { return 48; });
  EXPECT_EQ(compiled_, 1);
  EXPECT_THAT(kernel.variants[0].remarks, testing::IsEmpty());
}

} // namespace
} // namespace kernelc

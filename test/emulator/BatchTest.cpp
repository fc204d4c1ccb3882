// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several texts in one host build: each as if it were alone.
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

using Modules = std::vector<absl::StatusOr<std::unique_ptr<EmulatedModule>>>;

/// A kernel that writes `value()` to y[0], with a helper of its own before it.
std::string text(const std::string &helper) {
  return helper + "\nextern \"C\" __global__ void __launch_bounds__(32) kc_same(int *y) {\n"
                  "  if (threadIdx.x == 0) y[0] = value();\n}\n";
}

absl::StatusOr<Report> run(const EmulatedModule &module, std::vector<int> &y) {
  LaunchSpec spec;
  spec.entry = "kc_same";
  spec.block[0] = 32;
  spec.buffers = {{"y", y.data(), y.size() * 4, true}};
  spec.args = {packArg(y.data())};
  return module.launch(spec);
}

TEST(EmulatorBatch, NamesOfOneTextAreNotThoseOfAnother) {
  Modules modules = EmulatedModule::compileAll({text("static __device__ int value() { return 1; }"),
                                                text("struct Two { int v = 2; };\nstatic __device__ int value() { return Two().v; }"),
                                                text("template <int N> __device__ int two() { return N; }\n"
                                                     "static __device__ int value() { return two<3>(); }")});
  ASSERT_EQ(modules.size(), 3u);
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(modules[i].ok()) << modules[i].status();
    EXPECT_EQ((*modules[i])->entries(), std::vector<std::string>{"kc_same"});
    std::vector<int> y(1);
    auto report = run(**modules[i], y);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->ok()) << report->toString();
    EXPECT_EQ(y[0], i + 1);
  }
}

TEST(EmulatorBatch, ATextThatDoesNotCompileFailsAlone) {
  Modules modules = EmulatedModule::compileAll({text("static __device__ int value() { return 1; }"),
                                                text("#line 7 \"bad.kc\"\nstatic __device__ int value() { return kc_unknown(); }"),
                                                "int no_kernel;", text("static __device__ int value() { asm(\"trap;\"); return 1; }"),
                                                text("static __device__ int value() { return 5; }")});
  ASSERT_EQ(modules.size(), 5u);
  EXPECT_TRUE(modules[0].ok()) << modules[0].status();
  EXPECT_THAT(std::string(modules[1].status().message()),
              ::testing::AllOf(::testing::HasSubstr("kernel.cu:2 (bad.kc:7): "), ::testing::HasSubstr("the emulator has no model of it"),
                               ::testing::Not(::testing::HasSubstr("asm"))));
  EXPECT_THAT(std::string(modules[2].status().message()), ::testing::HasSubstr("no __global__ function"));
  EXPECT_THAT(std::string(modules[3].status().message()),
              ::testing::AllOf(::testing::HasSubstr("kernel.cu:1: "), ::testing::HasSubstr("inline asm")));
  ASSERT_TRUE(modules[4].ok()) << modules[4].status();
  std::vector<int> y(1);
  ASSERT_TRUE(run(**modules[4], y).ok());
  EXPECT_EQ(y[0], 5);
}

TEST(EmulatorBatch, MacrosStayWhereTheyAre) {
  Modules modules = EmulatedModule::compileAll({text("#define VALUE 1\nstatic __device__ int value() { return VALUE; }"),
                                                text("static __device__ int value() { int VALUE = 2; return VALUE; }")});
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(modules[i].ok()) << modules[i].status();
    std::vector<int> y(1);
    ASSERT_TRUE(run(**modules[i], y).ok());
    EXPECT_EQ(y[0], i + 1);
  }
}

TEST(EmulatorBatch, FindingsNameTheLinesOfTheirText) {
  auto bad = [](int value, int at) {
    return "// first\n#line " + std::to_string(at) + " \"f" + std::to_string(at) +
           ".kc\"\nextern \"C\" __global__ void kc_same(int *y) {\n  y[threadIdx.x] = " + std::to_string(value) + ";\n}\n";
  };
  Modules modules = EmulatedModule::compileAll({bad(1, 10), bad(2, 20)});
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(modules[i].ok()) << modules[i].status();
    std::vector<int> y(16); // half of what the warp writes
    auto report = run(**modules[i], y);
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->findings.size(), 1u) << report->toString();
    EXPECT_EQ(report->findings[0].first.where.line, 4);
    EXPECT_EQ(report->findings[0].first.where.sourceFile, i ? "f20.kc" : "f10.kc");
    EXPECT_EQ(report->findings[0].first.where.sourceLine, i ? 20 : 10);
  }
}

} // namespace
} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every operator of the selection at the benchmark's own sizes: becomes CUDA text for sm_90a
// that NVRTC compiles without a word of complaint, serialised wgmma among them, but for the
// spills that the comments admit.
#include "runtime/Nvrtc.h"
#include "test/conformance/ConformanceCases.h"

namespace kernelc::conformance {
namespace {

class FullSizes : public ::testing::TestWithParam<std::string> {};

TEST_P(FullSizes, CompileWithoutComplaints) {
  auto nvrtc = Nvrtc::load();
  if (!nvrtc.ok())
    GTEST_SKIP() << nvrtc.status();
  for (const Form &f : formsOf(GetParam())) {
    SCOPED_TRACE(f.name());
    if (!f.op.refusal.empty())
      continue; // OperatorsTest holds it to its message
    emulator::CompiledExample e = compileForm(f, "sm_90a", f.op.full);
    ASSERT_EQ(e.error + e.skip, "");
    auto cubin = (*nvrtc)->compileToCubin(e.variant().cudaText, f.op.kernel + ".cu", "sm_90a");
    ASSERT_TRUE(cubin.ok()) << cubin.status() << "\n" << e.variant().cudaText;
    bool spills = false;
    for (const CompileDiagnostic &d : cubin->diagnostics)
      if (d.code == "spill")
        spills = true;
      else
        ADD_FAILURE() << toString(d);
    // A list in the comments, so that both a new spill and one that has gone are seen.
    EXPECT_EQ(spills, llvm::is_contained(f.op.spills, f.form)) << cubin->log;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FullSizes, ::testing::ValuesIn(conformanceFiles()), [](const auto &info) { return stem(info.param); });

} // namespace
} // namespace kernelc::conformance

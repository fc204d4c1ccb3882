// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader of compiler logs, on logs as NVRTC 13.0 writes them.
#include "runtime/CompileLog.h"

#include <gmock/gmock.h>

namespace kernelc {
namespace {

const char kText[] = R"(// kc_linear(x): a comment is no definition
#line 3 "linear.kc"
extern "C" __global__ void
kc_linear(float *x) {
}
#line 20 "other.kc"
__device__ void kc_linear2(float *x) {}
extern "C" __global__ void kc_b (float *x) { kc_linear2(x); }
)";

TEST(FindEntryLocation, FollowsLineMarks) {
  SourceLoc loc = findEntryLocation(kText, "kc_linear");
  EXPECT_EQ(loc.file, "linear.kc");
  EXPECT_EQ(loc.line, 3);
  loc = findEntryLocation(kText, "kc_b");
  EXPECT_EQ(loc.file, "other.kc");
  EXPECT_EQ(loc.line, 20) << "a mark holds until the next";
  EXPECT_EQ(findEntryLocation(kText, "linear").line, 0);
  EXPECT_EQ(findEntryLocation(kText, "kc_none").line, 0);
  EXPECT_EQ(findEntryLocation("void kc_x() {}", "kc_x").line, 0) << "no #line: unknown";
}

TEST(ParseCompileLog, FrontEndErrors) {
  CompileLog log = parseCompileLog("my dir/linear.kc(12): error: identifier \"y\" is undefined\n"
                                   "  extern \"C\" __global__ void kc_bad(float*x){ x[0]=y;}\n"
                                   "                                                   ^\n"
                                   "\n"
                                   "linear.kc(40): warning #177-D: variable \"q\" was declared but never referenced\n"
                                   "  int q;\n"
                                   "      ^\n"
                                   "\n"
                                   "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
                                   "\n"
                                   "1 error detected in the compilation of \"kc.cu\".\n",
                                   "");
  ASSERT_EQ(log.diagnostics.size(), 2u);
  EXPECT_TRUE(log.hasErrors());
  EXPECT_EQ(log.diagnostics[0].loc.file, "my dir/linear.kc");
  EXPECT_EQ(log.diagnostics[0].loc.line, 12);
  EXPECT_THAT(log.diagnostics[0].excerpt, testing::EndsWith("^\n"));
  EXPECT_EQ(log.diagnostics[1].severity, CompileDiagnostic::Warning);
  EXPECT_EQ(log.diagnostics[1].code, "177-D");
  EXPECT_THAT(toString(log.diagnostics[0]), testing::StartsWith("my dir/linear.kc:12: error: identifier \"y\" is undefined\n  extern"));
}

TEST(ParseCompileLog, SpillsAndResources) {
  CompileLog log = parseCompileLog(
      "ptxas warning : Registers are spilled to local memory in function 'kc_b', 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'kc_linear' for 'sm_90a'\n"
      "ptxas info    : Function properties for kc_linear\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 1 barriers, 4096 bytes smem\n"
      "ptxas info    : Compiling entry function 'kc_b' for 'sm_90a'\n"
      "ptxas info    : Function properties for kc_b\n"
      "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers, 16 bytes cumulative stack size\n",
      kText);
  ASSERT_EQ(log.kernels.size(), 2u);
  EXPECT_EQ(log.kernels[0].registers, 8);
  EXPECT_EQ(log.kernels[0].staticSharedBytes, 4096);
  EXPECT_EQ(log.kernels[1].spillLoadBytes, 12);
  EXPECT_EQ(log.kernels[1].stackBytes, 16);
  ASSERT_EQ(log.diagnostics.size(), 1u) << "one report per function";
  EXPECT_EQ(log.diagnostics[0].severity, CompileDiagnostic::PerformanceError);
  EXPECT_EQ(toString(log.diagnostics[0]), "other.kc:20: performance error: registers spill to local memory in kc_b: "
                                          "8 bytes of stores, 12 bytes of loads [spill]");
}

TEST(ParseCompileLog, PerformanceCodes) {
  std::string text;
  for (const char *code : {"C7508", "C7510", "C7511", "C7512", "C7513", "C7514"})
    text += std::string("ptxas info    : (") + code + ") Potential Performance Loss: x in the function 'kc_b'\n";
  text += "ptxas info    : (C7519) warpgroup.arrive is injected in function 'kc_b'\n";
  CompileLog log = parseCompileLog(text, kText);
  ASSERT_EQ(log.diagnostics.size(), 7u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(log.diagnostics[i].severity, CompileDiagnostic::PerformanceError) << i;
    EXPECT_EQ(log.diagnostics[i].loc.line, 20);
  }
  EXPECT_EQ(log.diagnostics[6].severity, CompileDiagnostic::Note);
}

TEST(ParseCompileLog, UnnamedMessageBelongsToTheOnlyEntry) {
  CompileLog log = parseCompileLog(
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n"
      "ptxas info    : Compiling entry function 'kc_linear' for 'sm_90a'\n",
      kText);
  ASSERT_EQ(log.diagnostics.size(), 1u);
  EXPECT_EQ(log.diagnostics[0].function, "kc_linear");
  EXPECT_EQ(log.diagnostics[0].loc.line, 3);
}

TEST(ParseCompileLog, AssemblerErrors) {
  CompileLog log = parseCompileLog("ptxas application ptx input, line 23; error   : Unknown modifier '.inst'\n"
                                   "ptxas fatal   : Ptx assembly aborted due to errors\n",
                                   kText);
  ASSERT_EQ(log.diagnostics.size(), 1u);
  EXPECT_EQ(log.diagnostics[0].severity, CompileDiagnostic::Error);
  EXPECT_THAT(log.diagnostics[0].message, testing::HasSubstr("Unknown modifier '.inst'"));
}

TEST(ParseCompileLog, AnyTextIsSafe) {
  for (const char *s : {"", "\n", "ptxas", "ptxas : ", "(", "): ", "a(): error: ", "a(1): error", "ptxas info : (C7",
                        "ptxas info : Used registers", "ptxas info : Function properties for "})
    parseCompileLog(s, s);
  SUCCEED();
}

} // namespace
} // namespace kernelc

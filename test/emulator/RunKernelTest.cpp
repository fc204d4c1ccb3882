// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole kernels of the artifact: sizes, guards, workspaces, several launches.
#include "emulator/RunKernel.h"

#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

/// y[i] = sum_j x[i, j], by two launches: partial sums of each half, then both.
Kernel rowSum(const std::string &second = "y[i] = w[i] + w[M + i];") {
  Kernel k;
  k.name = "rowsum";
  k.sizes = {{"M", 0, 0}, {"N", 0, 1, 2, 0}};
  k.params = {{"x", ElementType::f32, ParamKind::Input, {SizeExpr::size(0), SizeExpr(2) * SizeExpr::size(1)}},
              {"y", ElementType::f32, ParamKind::Output, {SizeExpr::size(0)}}};
  Variant v;
  v.name = "default";
  v.cudaText = R"(
extern "C" __global__ void __launch_bounds__(64) kc_partial(const float* x, float* w, int M, int N) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < 2 * M) {
    float s = 0.0f;
    for (int j = 0; j < N; j++) s += x[(long long)(i % M) * 2 * N + (i / M) * N + j];
    w[i] = s;
  }
}
extern "C" __global__ void __launch_bounds__(64) kc_final(const float* w, float* y, int M) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < M) )" +
               second + "\n}\n";
  SizeExpr m = SizeExpr::size(0), n = SizeExpr::size(1);
  v.workspaceBytes = SizeExpr(8) * m;
  Launch first{"kc_partial", ceilDiv(SizeExpr(2) * m, 64), 64, 1, {}, {PointerArg{0, {}}, PointerArg{-1, {}}, SizeArg{m}, SizeArg{n}}, ""};
  Launch last{"kc_final", ceilDiv(m, 64), 64, 1, {}, {PointerArg{-1, {}}, PointerArg{1, {}}, SizeArg{m}}, ""};
  v.launches = {first, last};
  k.variants = {v};
  return k;
}

struct Tensors {
  int m = 100, n = 6;
  std::vector<float> x, y;
  RunArguments args;
  Tensors() : x(600), y(100) {
    for (int i = 0; i < 600; i++)
      x[i] = float(i % 17);
    args.params = {{x.data(), ElementType::f32, {m, n}, {n, 1}}, {y.data(), ElementType::f32, {m}, {1}}};
  }
};

TEST(RunKernel, TwoLaunchesAndAWorkspace) {
  Kernel k = rowSum();
  Tensors t;
  auto report = runKernel(k, k.variants[0], t.args);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok()) << report->toString();
  for (int i = 0; i < t.m; i++) {
    float want = 0;
    for (int j = 0; j < t.n; j++)
      want += t.x[i * t.n + j];
    EXPECT_EQ(t.y[i], want);
  }
}

TEST(RunKernel, WorkspaceReadBeyondWhatWasWritten) {
  Kernel k = rowSum("y[i] = w[i] + w[M + i] + w[2 * M - 1 - i] * 0.0f;");
  k.variants[0].launches.erase(k.variants[0].launches.begin()); // nobody writes the workspace
  Tensors t;
  auto report = runKernel(k, k.variants[0], t.args);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->findings[0].kind, FindingKind::Uninitialised);
  EXPECT_THAT(report->findings[0].message, ::testing::HasSubstr("'workspace'"));
}

// The runtime promises no zeros: tickets and flags that no launch has set hold what others left there.
TEST(RunKernel, AtomicsOnAWorkspaceThatNobodySet) {
  Kernel k = rowSum("y[i] = (float)atomicAdd((int *)&w[i], 1) + w[M + i] * 0.0f;");
  k.variants[0].launches.erase(k.variants[0].launches.begin());
  Tensors t;
  auto report = runKernel(k, k.variants[0], t.args);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->findings[0].kind, FindingKind::Uninitialised);
  // Without the checks, a value tells.
  EmulatorOptions values;
  values.checks = false;
  ASSERT_TRUE(runKernel(k, k.variants[0], t.args, values).ok());
  EXPECT_NE(t.y[0], 0.0f);
}

TEST(RunKernel, ReadsBeyondOneWorkspaceThatWouldEndInTheNext) {
  Kernel k = rowSum("y[i] = w[i] + w[64 + M + i] * 0.0f;"); // 64 floats are the gap between the two
  Variant &v = k.variants[0];
  SizeExpr m = SizeExpr::size(0);
  v.workspaceBytes = SizeExpr(16384) + SizeExpr(8) * m;
  v.workspaces = {{"sums", SizeExpr(0), SizeExpr(8) * m}, {"others", SizeExpr(16384), SizeExpr(8) * m}};
  Tensors t;
  auto report = runKernel(k, v, t.args);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->findings[0].kind, FindingKind::OutOfBounds);
  EXPECT_THAT(report->findings[0].message, ::testing::HasSubstr("past the end of 'sums' (800 bytes)"));

  // The second of them is found by its offset.
  Kernel other = rowSum();
  other.variants[0].workspaceBytes = v.workspaceBytes;
  other.variants[0].workspaces = v.workspaces;
  other.variants[0].launches[0].args[1] = other.variants[0].launches[1].args[0] = PointerArg{-1, SizeExpr(16384)};
  auto second = runKernel(other, other.variants[0], t.args);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->ok()) << second->toString();
}

TEST(RunKernel, OutputElementsNobodyWrote) {
  Kernel k = rowSum("if (i != 3) y[i] = w[i];");
  Tensors t;
  auto report = runKernel(k, k.variants[0], t.args);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->toString(), ::testing::HasSubstr("1 elements of output 'y' were never written, the first at flat index 3"));
}

TEST(RunKernel, BeyondATensorIsFoundThoughTheHostOwnsTheMemory) {
  Kernel k = rowSum("y[i + 1] = w[i];");
  Tensors t;
  auto report = runKernel(k, k.variants[0], t.args);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->findings[0].kind, FindingKind::OutOfBounds);
  EXPECT_THAT(report->findings[0].message, ::testing::HasSubstr("past the end of 'y' (400 bytes)"));
}

TEST(RunKernel, ShapesGuardsAndSizesAreChecked) {
  Kernel k = rowSum();
  Tensors t;
  t.args.params[1].shape = {99};
  EXPECT_THAT(runKernel(k, k.variants[0], t.args).status().ToString(), ::testing::HasSubstr("'y' has shape [99], expected [100]"));
  Tensors odd;
  odd.args.params[0].shape = {100, 5};
  EXPECT_THAT(runKernel(k, k.variants[0], odd.args).status().ToString(),
              ::testing::HasSubstr("dimension 1 of 'x' is 5, which is not 2 * N + 0"));
  Tensors strided;
  k.variants[0].params = {{LayoutClass::Dense, 16}, {LayoutClass::Dense, 1}};
  strided.args.params[0].strides = {6, 2};
  EXPECT_THAT(runKernel(k, k.variants[0], strided.args).status().ToString(), ::testing::HasSubstr("strides of 'x'"));
  Tensors shifted;
  shifted.args.placement = {8, 0};
  EXPECT_THAT(runKernel(k, k.variants[0], shifted.args).status().ToString(), ::testing::HasSubstr("needs 'x' aligned to 16 bytes"));
}

} // namespace
} // namespace kernelc::emulator

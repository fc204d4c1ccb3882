// The mutation score of a kernel whose synchronisation is all needed, and of one
// with a barrier too many.
#include "emulator/Mutate.h"

#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

/// y[i] = x[N - 1 - i] within blocks of 64, through shared memory.
Kernel reverse(const std::string &extra = "") {
  Kernel k;
  k.name = "reverse";
  k.sizes = {{"N", 0, 0}};
  k.params = {{"x", ElementType::f32, ParamKind::Input, {SizeExpr::size(0)}},
              {"y", ElementType::f32, ParamKind::Output, {SizeExpr::size(0)}}};
  Variant v;
  v.cudaText = R"(
#ifndef KC_HOST
static __device__ void kc_helper() { __syncthreads(); }
#endif
extern "C" __global__ void __launch_bounds__(64) kc_reverse(const float *x, float *y, int N) {
  float *s = (float *)kc_shared();
  const int tid = (int)threadIdx.x;
  const int base = (int)blockIdx.x * 64;
  const int count = min(N - base, 64);
  const bool cond = tid < count;
  if (cond) {
    s[tid] = x[base + tid];
  }
  __syncthreads();
)" + extra + R"(
  if (tid < count) {
    y[base + tid] = s[count - 1 - tid];
  }
}
)";
  SizeExpr n = SizeExpr::size(0);
  v.launches = {{"kc_reverse", ceilDiv(n, 64), 64, 1, SizeExpr(256), {PointerArg{0, {}}, PointerArg{1, {}}, SizeArg{n}}, ""}};
  k.variants = {v};
  return k;
}

MutationScore measure(const Kernel &k) {
  std::vector<float> x(100), y(100);
  for (int i = 0; i < 100; i++)
    x[i] = float(i);
  RunArguments args;
  args.params = {{x.data(), ElementType::f32, {100}, {1}}, {y.data(), ElementType::f32, {100}, {1}}};
  auto score = measureMutants(k, k.variants[0], {args});
  EXPECT_TRUE(score.ok()) << score.status();
  return score.ok() ? *score : MutationScore();
}

TEST(Mutate, EveryMutantOfATightKernelIsDetected) {
  MutationScore score = measure(reverse());
  EXPECT_EQ(score.total, 4) << score.toString(); // a barrier, a named mask, two conditions
  EXPECT_EQ(score.detected, 4) << score.toString();
}

TEST(Mutate, SurplusBarriersSurvive) {
  MutationScore score = measure(reverse("  __syncthreads();"));
  EXPECT_EQ(score.total, 5);
  ASSERT_EQ(score.survivors.size(), 2u) << score.toString(); // either of the two may go
  EXPECT_EQ(score.survivors[0].removed, "__syncthreads();");
  EXPECT_EQ(score.redundant, 2);
  EXPECT_EQ(score.missed, 0);
  EXPECT_TRUE(score.survivorsNeedEachOther); // but not both
  EXPECT_THAT(score.toString(), ::testing::HasSubstr("3 of 5 mutants detected"));
}

TEST(Mutate, SaysWhyAMaskSurvives) {
  MutationScore score = measure(reverse(R"(
  float z = 0;
  if (tid < 64) {
    z = 1;
  }
  if (tid < 32) {
    z = 2;
  }
  if (tid < 32) {
    __threadfence();
  }
)"));
  ASSERT_EQ(score.survivors.size(), 4u) << score.toString();
  EXPECT_EQ(score.survivors[0].why, "always true at these sizes");
  EXPECT_EQ(score.survivors[0].verdict, Verdict::Redundant);
  EXPECT_EQ(score.survivors[1].verdict, Verdict::Missed); // nobody reads z: nothing can tell
  EXPECT_EQ(score.survivors[2].why, "guards waits that others do not need");
  EXPECT_EQ(score.survivors[3].removed, "__threadfence();");
  EXPECT_EQ(score.missed, 1);
  EXPECT_FALSE(score.survivorsNeedEachOther);
}

} // namespace
} // namespace kernelc::emulator

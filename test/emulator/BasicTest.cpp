// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functional: hand-written texts against plain loops, with checks on and clean.
#include <cmath>
#include <numeric>

#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

TEST(EmulatorBasic, Elementwise) {
  const int n = 1000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; i++)
    a[i] = float(i), b[i] = 0.5f * float(i);
  Launcher l(R"(
extern "C" __global__ void __launch_bounds__(128) kc_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) c[i] = a[i] + 2.0f * b[i];
}
)");
  Report r = l.in("a", a).in("b", b).out("c", c).arg(n).grid(8).block(128).runClean();
  for (int i = 0; i < n; i++)
    ASSERT_EQ(c[i], 2.0f * float(i));
  EXPECT_EQ(r.counts.globalLoadBytes, 8u * n);
  EXPECT_EQ(r.counts.globalStoreBytes, 4u * n);
}

TEST(EmulatorBasic, VectorAccessAndMath) {
  std::vector<float> a(256), c(256);
  for (int i = 0; i < 256; i++)
    a[i] = 0.01f * float(i + 1);
  Launcher l(R"(
extern "C" __global__ void __launch_bounds__(64) kc_vec(const float* a, float* c) {
  float4 v = *reinterpret_cast<const float4*>(a + 4 * threadIdx.x);
  v.x = expf(v.x); v.y = sqrtf(v.y); v.z = tanhf(v.z); v.w = fmaxf(v.w, rsqrtf(v.w));
  *reinterpret_cast<float4*>(c + 4 * threadIdx.x) = make_float4(v.x, v.y, v.z, v.w);
}
)");
  l.in("a", a).out("c", c).block(64).runClean();
  for (int i = 0; i < 256; i += 4) {
    EXPECT_FLOAT_EQ(c[i], std::exp(a[i]));
    EXPECT_FLOAT_EQ(c[i + 1], std::sqrt(a[i + 1]));
    EXPECT_FLOAT_EQ(c[i + 2], std::tanh(a[i + 2]));
    EXPECT_FLOAT_EQ(c[i + 3], std::max(a[i + 3], 1 / std::sqrt(a[i + 3])));
  }
}

const char *kBlockSum = R"(
extern "C" __global__ void __launch_bounds__(256) kc_sum(const float* x, float* y, int n) {
  float* part = reinterpret_cast<float*>(kc_shared());
  float s = 0.0f;
  for (int i = threadIdx.x; i < n; i += 256) s += x[blockIdx.x * n + i];
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
    for (int d = 4; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
  }
}
)";

TEST(EmulatorBasic, SharedReductionWithShuffles) {
  const int n = 777, rows = 3;
  std::vector<float> x(n * rows), y(rows);
  for (int i = 0; i < n * rows; i++)
    x[i] = float(i % 13);
  Launcher l(kBlockSum);
  Report r = l.in("x", x).out("y", y).arg(n).grid(rows).block(256).shared(32).runClean();
  for (int i = 0; i < rows; i++)
    EXPECT_EQ(y[i], std::accumulate(x.begin() + i * n, x.begin() + (i + 1) * n, 0.0f));
  EXPECT_EQ(r.counts.barriers, 3u);
}

TEST(EmulatorBasic, RandomScheduleGivesTheSame) {
  const int n = 100;
  std::vector<float> x(n * 4, 1.0f), y(4);
  for (uint64_t seed = 1; seed < 6; seed++) {
    EmulatorOptions options;
    options.seed = seed;
    Launcher l(kBlockSum, options);
    Report r = l.in("x", x).out("y", y).arg(n).grid(4).block(256).shared(32).runClean();
    EXPECT_EQ(r.seed, seed);
    EXPECT_THAT(y, ::testing::Each(100.0f));
  }
}

TEST(EmulatorBasic, VotesMatchAndReduce) {
  std::vector<unsigned> out(32 * 4);
  Launcher l(R"(
extern "C" __global__ void kc_votes(unsigned* o) {
  unsigned t = threadIdx.x;
  o[4 * t] = __ballot_sync(0xffffffffu, t % 3 == 0);
  o[4 * t + 1] = __any_sync(0xffffffffu, t == 7) * 2 + __all_sync(0xffffffffu, t < 31);
  o[4 * t + 2] = __reduce_max_sync(0xffffffffu, t ^ 5u);
  o[4 * t + 3] = __match_any_sync(0xffffffffu, t / 16);
}
)");
  l.out("o", out).block(32).runClean();
  unsigned ballot = 0;
  for (unsigned t = 0; t < 32; t += 3)
    ballot |= 1u << t;
  for (unsigned t = 0; t < 32; t++) {
    EXPECT_EQ(out[4 * t], ballot);
    EXPECT_EQ(out[4 * t + 1], 2u);
    EXPECT_EQ(out[4 * t + 2], 31u);
    EXPECT_EQ(out[4 * t + 3], t < 16 ? 0xffffu : 0xffff0000u);
  }
}

TEST(EmulatorBasic, AtomicsAndTickets) {
  // The last block to finish adds up what all wrote: fences and a ticket.
  std::vector<float> x(512, 1.5f), partial(4), y(1);
  std::vector<int> ticket(1, 0);
  Launcher l(R"(
extern "C" __global__ void __launch_bounds__(128) kc_ticket(const float* x, float* partial, int* ticket, float* y) {
  float* s = reinterpret_cast<float*>(kc_shared());
  int* last = reinterpret_cast<int*>(kc_shared() + 512);
  s[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    *last = atomicAdd(ticket, 1) == 3;
    __threadfence();
  }
  __syncthreads();
  if (*last && threadIdx.x == 0) {
    float all = 0.0f;
    for (int i = 0; i < 4; i++) all += partial[i];
    y[0] = all;
    *ticket = 0;
  }
}
)");
  l.in("x", x).out("partial", partial).inout("ticket", ticket).out("y", y).grid(4).block(128).shared(516).runClean();
  EXPECT_EQ(y[0], 768.0f);
  EXPECT_EQ(ticket[0], 0);
}

TEST(EmulatorBasic, BlocksThatWaitForEarlierAndLaterOnes) {
  // Block 0 spins until block 2 has written: blocks must be live together.
  std::vector<int> flag(1, 0), y(3);
  Launcher l(R"(
extern "C" __global__ void kc_spin(volatile int* flag, int* y) {
  if (blockIdx.x == 2) *flag = 7;
  if (blockIdx.x == 0) while (*flag == 0) {}
  y[blockIdx.x] = 1;
}
)");
  l.inout("flag", flag).out("y", y).grid(3).block(1).runClean();
  EXPECT_THAT(y, ::testing::Each(1));
}

TEST(EmulatorBasic, CpAsyncDoubleBuffer) {
  const int n = 64 * 8;
  std::vector<float> x(n), y(64);
  std::iota(x.begin(), x.end(), 0.0f);
  Launcher l(R"(
extern "C" __global__ void __launch_bounds__(16) kc_pipe(const float* x, float* y) {
  unsigned char* s = kc_shared();
  int t = threadIdx.x;
  kc_cp_async_16(s + 16 * t, x + 4 * t);
  kc_cp_async_commit();
  float4 sum = make_float4(0, 0, 0, 0);
  for (int k = 0; k < 8; k++) {
    if (k < 7) kc_cp_async_16(s + ((k + 1) & 1) * 256 + 16 * t, x + (k + 1) * 64 + 4 * t);
    kc_cp_async_commit();
    kc_cp_async_wait<1>();
    __syncthreads();
    float4 v = *reinterpret_cast<float4*>(s + (k & 1) * 256 + 16 * (15 - t));
    sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
    __syncthreads();
  }
  kc_cp_async_wait<0>();
  *reinterpret_cast<float4*>(y + 4 * (15 - t)) = sum;
}
)");
  l.in("x", x).out("y", y).block(16).shared(512).runClean();
  for (int i = 0; i < 64; i++) {
    float want = 0;
    for (int k = 0; k < 8; k++)
      want += x[k * 64 + i];
    EXPECT_EQ(y[i], want);
  }
}

TEST(EmulatorBasic, ZeroFillCopies) {
  std::vector<float> x(4, 3.0f), y(4);
  Launcher l(R"(
extern "C" __global__ void kc_zfill(const float* x, float* y) {
  kc_cp_async_zfill_16(kc_shared(), x, 8);
  kc_cp_async_commit();
  kc_cp_async_wait<0>();
  for (int i = 0; i < 4; i++) y[i] = reinterpret_cast<float*>(kc_shared())[i];
}
)");
  l.in("x", x).out("y", y).block(1).shared(16).runClean();
  EXPECT_THAT(y, ::testing::ElementsAre(3.0f, 3.0f, 0.0f, 0.0f));
}

TEST(EmulatorBasic, ConversionsRoundAsSupportDoes) {
  std::vector<float> x = {1.0f, 1.00390625f, 3.14159f, 1e30f, -0.0f};
  std::vector<unsigned short> y(10);
  Launcher l(R"(
extern "C" __global__ void kc_conv(const float* x, unsigned short* y) {
  y[threadIdx.x] = kc_f32_to_bf16(x[threadIdx.x]);
  y[threadIdx.x + 5] = kc_f32_to_f16(kc_bf16_to_f32(y[threadIdx.x]));
}
)");
  l.in("x", x).out("y", y).block(5).runClean();
  for (int i = 0; i < 5; i++) {
    EXPECT_EQ(y[i], toBF16(x[i]));
    EXPECT_EQ(y[i + 5], toF16(fromBF16(y[i])));
  }
}

TEST(EmulatorBasic, UnknownHelpersAndAsmAreRefusedByLine) {
  EXPECT_THAT(
      EmulatedModule::compile("extern \"C\" __global__ void kc_f(int* p) {\n#line 7 \"m.kc\"\n  kc_magic(p);\n}\n").status().ToString(),
      ::testing::AllOf(::testing::HasSubstr("kernel.cu:3 (m.kc:7)"), ::testing::HasSubstr("kc_magic")));
  auto status = EmulatedModule::compile("extern \"C\" __global__ void kc_f() {\n  asm volatile(\"trap;\");\n}\n").status();
  EXPECT_THAT(std::string(status.message()), ::testing::AllOf(::testing::HasSubstr("kernel.cu:2"), ::testing::HasSubstr("asm")));
  status = EmulatedModule::compile("int f() { return 1; }\n").status();
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("no __global__ function"));
}

TEST(EmulatorBasic, DeviceOnlyHelpersStandInGuards) {
  std::vector<int> y(1);
  Launcher l(R"(
#ifndef KC_HOST
__device__ __forceinline__ int kc_f32_to_bf16(float f) { int r; asm("..." : "=r"(r)); return r; }
#endif
extern "C" __global__ void kc_g(int* y) { y[0] = kc_f32_to_bf16(1.0f); }
)");
  l.out("y", y).block(1).runClean();
  EXPECT_EQ(y[0], 0x3f80);
}

TEST(EmulatorBasic, MissingCompilerIsAStatus) {
  EmulatorOptions options;
  options.clang = "no-such-clang";
  auto status = EmulatedModule::compile("extern \"C\" __global__ void f() {}", options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("no-such-clang"));
}

TEST(EmulatorBasic, LaunchErrorsAreStatus) {
  auto module = EmulatedModule::compile("extern \"C\" __global__ void __launch_bounds__(32) kc_f(int* p, int n) {}");
  ASSERT_TRUE(module.ok()) << module.status();
  LaunchSpec spec;
  spec.entry = "kc_g";
  EXPECT_THAT((*module)->launch(spec).status().ToString(), ::testing::HasSubstr("no entry 'kc_g'; it has kc_f"));
  spec.entry = "kc_f";
  EXPECT_THAT((*module)->launch(spec).status().ToString(), ::testing::HasSubstr("0 arguments for 2 parameters"));
  spec.args = {packArg<void *>(nullptr), packArg<int64_t>(1)};
  EXPECT_THAT((*module)->launch(spec).status().ToString(), ::testing::HasSubstr("argument 1 has 8 bytes, the parameter 4"));
  spec.args[1] = packArg<int>(1);
  spec.block[0] = 64;
  EXPECT_THAT((*module)->launch(spec).status().ToString(), ::testing::HasSubstr("__launch_bounds__(32)"));
  spec.block[0] = 32;
  EXPECT_TRUE((*module)->launch(spec).ok());
}

} // namespace
} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bank conflicts and sectors of access patterns whose numbers are known.
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

Report count(const std::string &body, uint32_t block = 32, uint32_t grid = 1) {
  alignas(256) static float x[4096], y[4096]; // as aligned as device memory is
  EmulatorOptions options;
  options.counts = true;
  Launcher l("extern \"C\" __global__ void __launch_bounds__(256) kc_counted(const float* x, float* y) {\n"
             "  float* s = reinterpret_cast<float*>(kc_shared()); (void)s;\n  int t = threadIdx.x;\n" +
                 body + "\n}\n",
             options);
  l.spec.buffers = {{"x", x, sizeof x, false}, {"y", y, sizeof y, true}};
  l.arg(&x[0]).arg(&y[0]);
  return l.block(block).grid(grid).shared(16384).runClean();
}

TEST(EmulatorCounts, CoalescedAndStridedLoads) {
  Report r = count("y[t] = x[t];");
  EXPECT_EQ(r.counts.globalRequests, 2u);
  EXPECT_EQ(r.counts.globalSectors, 8u);
  EXPECT_EQ(r.counts.globalMinimum, 8u);
  r = count("y[t] = x[32 * t];"); // one sector per lane
  EXPECT_EQ(r.counts.globalSectors, 32u + 4);
  r = count("y[t] = x[t + 1];"); // touches a fifth sector
  EXPECT_EQ(r.counts.globalSectors, 5u + 4);
  r = count("*(float4*)(y + 4 * t) = *(const float4*)(x + 4 * t);", 64);
  EXPECT_EQ(r.counts.globalRequests, 4u);
  EXPECT_EQ(r.counts.globalSectors, 64u);
}

TEST(EmulatorCounts, BankConflictsOfColumnsAndOfPaddedColumns) {
  auto transpose = [](int pitch) {
    std::string p = std::to_string(pitch);
    return "for (int i = 0; i < 32; i++) s[i * " + p +
           " + t] = x[i * 32 + t];\n__syncthreads();\n"
           "for (int i = 0; i < 32; i++) y[i * 32 + t] = s[t * " +
           p + " + i];";
  };
  Report r = count(transpose(32));
  EXPECT_EQ(r.counts.sharedRequests, 64u);
  EXPECT_EQ(r.counts.sharedWavefronts, 32u + 32 * 32);
  EXPECT_EQ(r.counts.bankConflicts(), 32u * 31);
  EXPECT_EQ(count(transpose(33)).counts.bankConflicts(), 0u);
}

TEST(EmulatorCounts, WideSharedAccesses) {
  Report r = count("*(float4*)(s + 4 * t) = *(const float4*)(x + 4 * t); __syncwarp(); "
                   "*(float4*)(y + 4 * t) = *(float4*)(s + 4 * (31 - t));");
  EXPECT_EQ(r.counts.sharedRequests, 2u);
  EXPECT_EQ(r.counts.sharedWavefronts, 8u);
  EXPECT_EQ(r.counts.bankConflicts(), 0u);
  r = count("s[t / 2] = 0.0f; if (t & 1) return; *(float4*)(y + 4 * t) = *(const float4*)(x + 4 * t);", 1);
  EXPECT_EQ(r.counts.sharedRequests, 1u);
}

TEST(EmulatorCounts, LdmatrixWithAndWithoutSwizzle) {
  auto load = [](const std::string &chunk) {
    return "for (int i = t; i < 1024; i += 32) s[i] = x[i];\n__syncwarp();\nunsigned r[4];\n"
           "int row = t & 15, c = t >> 4;\nkc_ldmatrix_x4(r, kc_shared() + row * 128 + ((" +
           chunk + ") << 4));\ny[t] = (float)r[0];";
  };
  EXPECT_EQ(count(load("c")).counts.bankConflicts(), 4u * 7);
  EXPECT_EQ(count(load("c ^ (row & 7)")).counts.bankConflicts(), 0u);
}

TEST(EmulatorCounts, SitesNameTheirLine) {
  Report r = count("\n  float v = x[32 * t];\n  y[t] = v;");
  bool found = false;
  for (const AccessSite &site : r.sites)
    if (site.where.line == 5) {
      found = true;
      EXPECT_EQ(site.transactions, 32u);
      EXPECT_EQ(site.minimum, 4u);
    }
  EXPECT_TRUE(found);
}

} // namespace
} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waits tell no more than the device's do: a warp waits for its warpgroup's products by itself, and an mbarrier
// that tracks a thread's copies tells those who wait for it, of the copies before.
#include <algorithm>

#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

using K = FindingKind;

/// One block with words to copy, operands of wgmma and an mbarrier, for which `arrivals` are needed.
class Block {
public:
  Block(const std::string &body, uint32_t threads, int arrivals)
      : launcher_("extern \"C\" __global__ void kc_waits(const float* x, float* y) {\n  float* s = (float*)kc_shared();\n"
                  "  unsigned char* bar = kc_shared() + 8192;\n  unsigned short* a = (unsigned short*)s; unsigned short* b = a + 1024;\n"
                  "  int t = threadIdx.x;\n  float d[4] = {0, 0, 0, 0};\n"
                  "  if (t == 0) { kc_mbarrier_init(bar, " +
                  std::to_string(arrivals) + "); kc_fence_mbarrier_init(); }\n  __syncthreads();\n" + body + "\n}\n") {
    launcher_.in("x", x_).inout("y", y_).block(threads).shared(8192 + 64);
  }
  Report run(uint64_t seed = 0) {
    launcher_.options_.seed = seed;
    return launcher_.run();
  }
  /// Nothing is found, whatever the order.
  void isClean() {
    for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
      Report r = run(seed);
      EXPECT_TRUE(r.ok()) << "seed " << seed << "\n" << r.toString();
    }
  }
  /// One of `kinds` is found, whatever the order.
  void isFound(std::vector<K> kinds) {
    for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
      Report r = run(seed);
      EXPECT_TRUE(std::any_of(r.findings.begin(), r.findings.end(), [&](const Finding &f) { return isOneOf(kinds, f.kind); }))
          << "seed " << seed << "\n"
          << r.toString();
    }
  }
  const std::vector<float> &results() const { return y_; }

private:
  static bool isOneOf(const std::vector<K> &kinds, K kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); }
  std::vector<float> x_ = std::vector<float>(512, 1.0f), y_ = std::vector<float>(256, 0.0f);
  Launcher launcher_;
};

// Products of 64 x 16 and 8 x 16 ones of bf16, without a swizzle.
const std::string kOperands = "for (int i = t; i < 1152; i += 128) a[i] = 0x3f80;\n  kc_fence_proxy_async(); __syncthreads();\n";
const std::string kProduct =
    "kc_wgmma_fence(); kc_wgmma_bf16<8, 0, 0>(d, kc_smem_desc(a, 1024, 128, 0), kc_smem_desc(b, 128, 128, 0), 0); kc_wgmma_commit();\n";

TEST(EmulatorAsyncWaits, AWarpWaitsForProductsByItself) {
  // The other warps come to their wait once the first has gone past its own.
  Block block(kOperands + kProduct +
                  "if (t / 32) kc_mbarrier_wait(bar, 0);\nkc_wgmma_wait<0>(); y[t] = d[0];\nif (t == 0) kc_mbarrier_arrive(bar);",
              128, 1);
  block.isClean();
  EXPECT_EQ(block.results()[0], 16);
  EXPECT_EQ(block.results()[127], 16);
}

TEST(EmulatorAsyncWaits, AProductNeedsAllWarps) {
  Block(kOperands + "if (t / 32) kc_mbarrier_wait(bar, 0);\n" + kProduct +
            "kc_wgmma_wait<0>(); y[t] = d[0];\nif (t == 0) kc_mbarrier_arrive(bar);",
        128, 1)
      .isFound({K::Deadlock});
}

TEST(EmulatorAsyncWaits, NoLaneSpeaksForTheOthers) {
  // Lane 0 of the block, of a warp, and a warp commit a group without the product that all others have in it.
  for (const char *some : {"t != 0", "t != 96", "t / 32 != 2"})
    Block(kOperands + "kc_wgmma_fence();\nif (" + some +
              ") kc_wgmma_bf16<8, 0, 0>(d, kc_smem_desc(a, 1024, 128, 0), kc_smem_desc(b, 128, 128, 0), 0);\n"
              "kc_wgmma_commit(); kc_wgmma_wait<0>(); y[t] = d[0];",
          128, 1)
        .isFound({K::BarrierDivergence});
  // One thread commits twice.
  Block(kOperands + kProduct + "if (t == 40) kc_wgmma_commit();\nkc_wgmma_wait<0>(); y[t] = d[0];", 128, 1).isFound({K::BarrierDivergence});
}

TEST(EmulatorAsyncWaits, AWaitIsNoBarrierOfTheWarpgroup) {
  Block(kOperands + kProduct + "s[1024 + t] = 1.0f; kc_wgmma_wait<0>(); y[t] = d[0] + s[1024 + (t + 32) % 128];", 128, 1)
      .isFound({K::DataRace, K::Uninitialised});
}

TEST(EmulatorAsyncWaits, AnOperandIsFreeOnceItsProductWasWaitedFor) {
  Block(kOperands + kProduct + "kc_wgmma_wait<0>(); y[t] = d[0]; if (t == 0) b[0] = 0;", 128, 1).isClean();
  Block(kOperands + kProduct + kProduct + "kc_wgmma_wait<1>(); if (t == 0) b[0] = 0;\nkc_wgmma_wait<0>(); y[t] = d[0];", 128, 1)
      .isFound({K::DataRace});
}

const std::string kCopy = "kc_cp_async_4(s + t, x + t); ";

TEST(EmulatorAsyncWaits, AnArrivalOfCopiesTellsWhoWaits) {
  Block block(kCopy + "kc_cp_async_arrive(bar); kc_mbarrier_wait(bar, 0); y[t] = s[(t + 1) % 64];", 64, 64);
  block.isClean();
  EXPECT_EQ(block.results()[0], 1);
}

TEST(EmulatorAsyncWaits, AnArrivalOfCopiesTellsNobodyElse) {
  // Neither the thread itself, nor those behind a barrier with it.
  Block(kCopy + "kc_cp_async_arrive(bar); y[t] = s[t]; kc_mbarrier_wait(bar, 0);", 64, 64).isFound({K::DataRace, K::Uninitialised});
  Block(kCopy + "kc_cp_async_arrive(bar); __syncthreads(); y[t] = s[(t + 1) % 64]; kc_mbarrier_wait(bar, 0);", 64, 64)
      .isFound({K::DataRace, K::Uninitialised});
}

TEST(EmulatorAsyncWaits, AnArrivalOfCopiesIsOfThoseBefore) {
  Block(kCopy + "kc_cp_async_arrive(bar); kc_cp_async_4(s + 64 + t, x + t);\nkc_mbarrier_wait(bar, 0); y[t] = s[64 + t]; "
                "kc_cp_async_commit(); kc_cp_async_wait<0>();",
        64, 64)
      .isFound({K::DataRace, K::Uninitialised});
  // It says nothing of what else its thread, or another one, has done.
  Block("s[64 + t] = 1.0f; " + kCopy + "kc_cp_async_arrive(bar); kc_mbarrier_wait(bar, 0); y[t] = s[64 + (t + 1) % 64];", 64, 64)
      .isFound({K::DataRace, K::Uninitialised});
}

TEST(EmulatorAsyncWaits, AnArrivalOfCopiesCommitsNoGroup) {
  // The copies are in the group that is committed behind it: one group may be pending, and is that of both.
  Block(kCopy + "kc_cp_async_arrive(bar); kc_cp_async_commit(); kc_cp_async_wait<1>(); y[t] = s[t]; kc_cp_async_wait<0>();", 64, 64)
      .isFound({K::DataRace, K::Uninitialised});
  Block(kCopy + "kc_cp_async_arrive(bar); kc_cp_async_commit(); kc_cp_async_wait<0>(); y[t] = s[t];", 64, 64).isClean();
}

TEST(EmulatorAsyncWaits, CopiesThatNobodyIsToldOfAreLost) {
  Block(kCopy + "kc_cp_async_arrive(bar); kc_cp_async_4(s + 64 + t, x + t);", 64, 64).isFound({K::LostAsyncWork});
}

} // namespace
} // namespace kernelc::emulator

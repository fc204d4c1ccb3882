// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers of some threads, mbarriers, clusters and register counts: what has no
// result is shown by data that only arrives in time when it works.
#include "test/helpers/Cases.h"

namespace kernelc::helpers {
namespace {

void addBlockBarriers(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker bar{"bar_sync", 75, 75, {"kc_bar_sync", "kc_shared"}, nullptr};
  bar.make = [bar] {
    // Three warps and one warp, each with a barrier of its own, several times.
    auto x = randomBits<uint32_t>(128, 70), y = x;
    for (size_t t = 0; t < 128; t++)
      for (int round = 0; round < 4; round++)
        y[t] += x[t < 96 ? (t + 41 * size_t(round + 1)) % 96 : 96 + (t + 7 * size_t(round + 1)) % 32];
    return CaseBuilder(bar)
        .input("x", x)
        .output("y", y)
        .launch("bar", 128, R"(
  unsigned *s = (unsigned *)kc_shared();
  int t = threadIdx.x;
  bool wide = t < 96;
  unsigned sum = x[t];
  s[t] = x[t];
  for (int round = 1; round <= 4; round++) {
    if (wide) kc_bar_sync(1, 96); else kc_bar_sync(2, 32);
    sum += s[128 * (round - 1) + (wide ? (t + 41 * round) % 96 : 96 + (t + 7 * round) % 32)];
    s[128 * round + t] = x[t];
  }
  y[t] = sum;)",
                5 * 512)
        .build();
  };
  cases.push_back(bar);

  HelperCaseMaker group{"warpgroup", 75, 75, {"kc_warpgroup"}, nullptr};
  group.make = [group] {
    std::vector<int32_t> y(384);
    for (size_t t = 0; t < 384; t++)
      y[t] = int32_t(t / 128);
    return CaseBuilder(group).output("y", y).launch("group", 384, "  y[threadIdx.x] = kc_warpgroup();").build();
  };
  cases.push_back(group);

  HelperCaseMaker leader{"leader", 90, 90, {"kc_leader"}, nullptr};
  leader.make = [leader] {
    std::vector<int32_t> y(96);
    for (size_t t = 0; t < 96; t += 32)
      y[t] = 3;
    return CaseBuilder(leader)
        .output("y", y)
        .launch("leader", 96, "  int n = 0;\n  for (int i = 0; i < 3; ++i)\n    if (kc_leader()) n += 1;\n  y[threadIdx.x] = n;")
        .build();
  };
  cases.push_back(leader);

  HelperCaseMaker opaque{"opaque", 75, 75, {"kc_opaque"}, nullptr};
  opaque.make = [opaque] {
    std::vector<int32_t> y(32);
    for (size_t t = 0; t < 32; t++)
      y[t] = int32_t(t) - 7;
    return CaseBuilder(opaque).output("y", y).launch("opaque", 32, "  y[threadIdx.x] = kc_opaque((int)threadIdx.x - 7);").build();
  };
  cases.push_back(opaque);

  HelperCaseMaker chain{"launch_wait", 90, 90, {"kc_launch_wait", "kc_launch_release"}, nullptr};
  chain.make = [chain] {
    // The second launch may start before the first has written: it waits. Enough work that
    // one without the wait would read too early.
    auto x = randomBits<uint32_t>(64 * 128, 72), y = x, z = x;
    for (uint32_t &v : y)
      for (int i = 0; i < 2000; i++)
        v = v * 5 + 1;
    for (size_t t = 0; t < x.size(); t++)
      z[t] = y[x.size() - 1 - t] ^ 7;
    return CaseBuilder(chain)
        .input("x", x)
        .output("y", y)
        .output("z", z)
        .launch("first", 128, R"(
  kc_launch_release();
  int t = blockIdx.x * 128 + threadIdx.x;
  unsigned v = x[t];
  for (int i = 0; i < 2000; i++) v = v * 5u + 1u;
  y[t] = v;)",
                0, 64)
        .launch("second", 128, R"(
  kc_launch_wait();
  int t = blockIdx.x * 128 + threadIdx.x;
  z[t] = ((const volatile unsigned *)y)[64 * 128 - 1 - t] ^ 7u;)",
                0, 64)
        .dependent()
        .build();
  };
  cases.push_back(chain);

  HelperCaseMaker registers{"setmaxnreg", 90, 90, {"kc_setmaxnreg_inc", "kc_setmaxnreg_dec", "kc_warpgroup"}, nullptr};
  registers.make = [registers] {
    auto x = randomBits<uint32_t>(384, 71), y = x;
    for (size_t t = 0; t < 384; t++)
      y[t] = t < 128 ? x[t] * 3 : x[t] * 5 + x[t - 128];
    return CaseBuilder(registers)
        .input("x", x)
        .output("y", y)
        .launch("registers", 384, R"(
  int t = threadIdx.x;
  if (kc_warpgroup() == 0) {
    kc_setmaxnreg_dec<40>();
    y[t] = x[t] * 3u;
  } else {
    kc_setmaxnreg_inc<232>();
    y[t] = x[t] * 5u + x[t - 128];
  })")
        .build();
  };
  cases.push_back(registers);
}

void addMbarriers(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker ring{
      "mbarrier",
      90,
      90,
      {"kc_mbarrier_init", "kc_fence_mbarrier_init", "kc_mbarrier_arrive", "kc_mbarrier_expect_tx", "kc_mbarrier_wait", "kc_shared"},
      nullptr};
  ring.make = [ring] {
    // One warp fills two slots in turn, another empties them: both phases of both barriers.
    const size_t rounds = 7;
    auto x = randomBits<uint32_t>(32 * rounds, 72), y = x;
    for (size_t r = 0; r < rounds; r++)
      for (size_t t = 0; t < 32; t++)
        y[32 * r + t] = x[32 * r + (t ^ 9)];
    return CaseBuilder(ring)
        .input("x", x)
        .output("y", y)
        .launch("ring", 64, R"(
  unsigned *slots = (unsigned *)kc_shared();
  unsigned char *full = kc_shared() + 256, *empty = full + 16;
  int t = threadIdx.x & 31;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) {
      kc_mbarrier_init(full + 8 * i, 33);
      kc_mbarrier_init(empty + 8 * i, 32);
    }
    kc_fence_mbarrier_init();
  }
  __syncthreads();
  for (int r = 0; r < 7; r++) {
    int slot = r & 1, phase = r / 2 & 1;
    if (threadIdx.x < 32) {
      kc_mbarrier_wait(empty + 8 * slot, phase ^ 1);
      slots[32 * slot + t] = x[32 * r + t];
      if (t == 0) kc_mbarrier_expect_tx(full + 8 * slot, 0);
      kc_mbarrier_arrive(full + 8 * slot);
    } else {
      kc_mbarrier_wait(full + 8 * slot, phase);
      y[32 * r + t] = slots[32 * slot + (t ^ 9)];
      kc_mbarrier_arrive(empty + 8 * slot);
    }
  })",
                256 + 32)
        .build();
  };
  cases.push_back(ring);

  HelperCaseMaker cluster{"cluster",
                          90,
                          90,
                          {"kc_cluster_rank", "kc_cluster_sync", "kc_mbarrier_arrive_cluster", "kc_mbarrier_init", "kc_fence_mbarrier_init",
                           "kc_mbarrier_wait", "kc_shared"},
                          nullptr};
  cluster.make = [cluster] {
    // Each block's barrier wants an arrival from every block: none goes on alone.
    std::vector<uint32_t> ranks(8 * 32);
    for (size_t i = 0; i < ranks.size(); i++)
      ranks[i] = uint32_t(i / 32 % 4);
    return CaseBuilder(cluster)
        .output("ranks", ranks)
        .launch("cluster", 32, R"(
  unsigned char *bar = kc_shared();
  int t = threadIdx.x;
  if (t == 0) {
    kc_mbarrier_init(bar, 4);
    kc_fence_mbarrier_init();
  }
  kc_cluster_sync();
  if (t < 4) kc_mbarrier_arrive_cluster(bar, t);
  kc_mbarrier_wait(bar, 0);
  ranks[32 * blockIdx.x + t] = kc_cluster_rank();
  kc_cluster_sync();)",
                64, 8, 4)
        .build();
  };
  cases.push_back(cluster);
}

} // namespace

void addBarrierCases(std::vector<HelperCaseMaker> &cases) {
  addBlockBarriers(cases);
  addMbarriers(cases);
}

} // namespace kernelc::helpers

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed shared memory, st.async, operand A in registers, ordered atomics and
// prefetches: what must not be reported, and the report of each mistake.
#include "support/ElementType.h"
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

using K = FindingKind;

/// A kernel of clusters of two blocks over x (64 ints in) and y (64 out).
struct ClusterKernel {
  std::vector<int> x = std::vector<int>(64, 7), y = std::vector<int>(64);
  Launcher launcher(const std::string &body) {
    Launcher l("extern \"C\" __global__ void __launch_bounds__(32) kc_pair(const int* x, int* y) {\n"
               "  int *s = (int *)(kc_shared() + 64), t = threadIdx.x, rank = kc_cluster_rank(), i = 32 * "
               "rank + t;\n"
               "  unsigned char *bar = kc_shared(); (void)bar; (void)i; (void)s;\n" +
               body + "\n}\n");
    l.in("x", x).out("y", y).grid(2).block(32).shared(64 + 512);
    l.spec.cluster = 2;
    return l;
  }
  /// Both whatever the schedule.
  void finds(const std::string &body, K kind, std::vector<std::string> parts) {
    Launcher l = launcher(body);
    for (l.options_.seed = 0; l.options_.seed < 4; l.options_.seed++)
      l.runFinding(kind, parts);
  }
  void clean(const std::string &body) {
    Launcher l = launcher(body);
    for (l.options_.seed = 0; l.options_.seed < 4; l.options_.seed++)
      l.runClean();
  }
};

TEST(EmulatorCluster, ReadsOfOtherBlocksNeedABarrierBeforeAndAfter) {
  ClusterKernel k;
  const std::string read = "y[i] = kc_cluster_load_i32(s + t, rank ^ 1);";
  k.clean("s[t] = x[i]; kc_cluster_sync(); " + read + " kc_cluster_sync();");
  k.clean("s[t] = x[i]; kc_cluster_arrive(); kc_cluster_wait(); " + read + " kc_cluster_arrive(); kc_cluster_wait();");
  k.finds("s[t] = x[i]; " + read + " kc_cluster_sync();", K::DataRace, {"shared memory", "write by thread", "read by thread"});
  k.finds("s[t] = x[i]; kc_cluster_sync(); " + read, K::BarrierProtocol, {"shared memory of block", "nothing keeps it from ending"});
  k.finds("s[t] = x[i]; kc_cluster_sync(); y[i] = kc_cluster_load_i32(s + t, 2);", K::InvalidOperation, {"block 2 of a cluster of 2"});
  k.finds("s[t] = x[i]; kc_cluster_sync(); y[i] = kc_cluster_load_i32(s + 4096, 0);", K::InvalidOperation, {"mapa"});
}

TEST(EmulatorCluster, WritesToOtherBlocks) {
  ClusterKernel k;
  const std::string write = "kc_cluster_store_i32(s + t, x[i], rank ^ 1);";
  k.clean("kc_cluster_sync(); " + write + " kc_cluster_sync(); y[i] = s[t];");
  k.finds("kc_cluster_sync(); " + write + " y[i] = s[t]; kc_cluster_sync();", K::DataRace, {"shared memory byte"});
  k.finds("kc_cluster_sync(); s[t] = 1; " + write + " kc_cluster_sync(); y[i] = s[t];", K::DataRace, {"write by", "and write by"});
}

TEST(EmulatorCluster, BlocksSayThatTheyHaveStarted) {
  ClusterKernel k;
  const std::string write = "if (rank) kc_cluster_store_i32(s + t, x[i], 0);",
                    last = "kc_cluster_arrive(); if (rank == 0) { kc_cluster_wait(); y[i] = s[t]; }";
  k.clean("kc_cluster_arrive(); kc_cluster_wait(); " + write + last);
  k.finds(write + last, K::BarrierProtocol, {"shared memory of block 0", "nothing says that it has started"});
  k.finds("kc_cluster_wait(); " + write + last, K::BarrierProtocol, {"waits at the cluster barrier and has not arrived"});
  k.finds("kc_cluster_arrive(); kc_cluster_sync(); " + write + last, K::BarrierProtocol,
          {"arrives twice at the cluster barrier and has not waited between"});
}

TEST(EmulatorCluster, AsynchronousStoresArriveOnAnMbarrier) {
  ClusterKernel k;
  const std::string init = "if (t == 0) { kc_mbarrier_init(bar, 1); kc_fence_mbarrier_init(); } "
                           "kc_cluster_sync();\n",
                    expect = "if (t == 0) kc_mbarrier_expect_tx(bar, 128);\n", store = "kc_store_async_i32(s + t, x[i], bar, rank ^ 1);\n",
                    wait = "kc_mbarrier_wait(bar, 0);\n", use = "y[i] = s[t];\n";
  k.clean(init + expect + store + wait + use);
  k.finds(init + expect + store + use + wait, K::DataRace, {"st.async write by thread", "read by thread"});
  k.finds(init + "if (t == 0) kc_mbarrier_expect_tx(bar, 124);\n" + store + wait + use, K::BarrierProtocol,
          {"delivered and not announced"});
  k.finds(init + "if (t == 0) kc_mbarrier_expect_tx(bar, 132);\n" + store + wait + use, K::Deadlock, {"4 bytes outstanding"});
  k.finds(init + expect + store + "y[i] = 1; kc_cluster_sync();", K::LostAsyncWork, {"a st.async was never waited for"});
  k.finds(init + expect + "kc_store_async_i64(s + t, x[i], bar, rank ^ 1);\n" + wait + use, K::Misaligned, {"multiple"});
  k.finds("if (t == 0) kc_mbarrier_init(bar, 1); kc_cluster_sync();\n" + expect + store + wait + use, K::ProxyFence,
          {"fence.mbarrier_init"});
  k.finds(expect + store + wait + use, K::BarrierProtocol, {"never initialised"});
  // A slot may be sent to again only after the receiver has read it.
  k.finds(init + expect + store + wait + use + expect + store + "kc_mbarrier_wait(bar, 1);\n" + use, K::DataRace, {"st.async write"});
  k.clean(init + expect + store + wait + use + "kc_cluster_sync();\n" + expect + store + "kc_mbarrier_wait(bar, 1);\n" + use);
}

TEST(EmulatorCluster, ArrivalsAtBlocksThatMayHaveEnded) {
  ClusterKernel k;
  const std::string init = "if (t == 0) { kc_mbarrier_init(bar, 32); kc_fence_mbarrier_init(); } kc_cluster_sync();\n";
  k.clean(init + "kc_mbarrier_arrive_cluster(bar, rank ^ 1); kc_mbarrier_wait(bar, 0); y[i] = 1;");
  k.clean(init + "kc_mbarrier_arrive_cluster(bar, rank ^ 1); y[i] = 1; kc_cluster_sync();");
  k.finds(init + "y[i] = 1; if (rank == 0) kc_mbarrier_arrive_cluster(bar, 1);", K::BarrierProtocol,
          {"shared memory of block 1", "nothing keeps it"});
}

/// Blocks hand a row on, through a flag or a ticket.
struct Chain {
  std::vector<int> x = std::vector<int>(64, 1), y = std::vector<int>(192), flags = std::vector<int>(4, 0);
  Launcher launcher(const std::string &body) {
    std::fill(flags.begin(), flags.end(), 0);
    Launcher l("extern \"C\" __global__ void __launch_bounds__(64) kc_chain(const int* x, int* y, "
               "int* flags) {\n"
               "  int t = threadIdx.x, b = blockIdx.x, i = 64 * b + t; int *s = (int "
               "*)kc_shared(); (void)s; (void)i;\n" +
               body + "\n}\n");
    l.in("x", x).out("y", y).inout("flags", flags).grid(3).block(64).shared(64);
    return l;
  }
  void finds(const std::string &body, std::vector<std::string> parts) { launcher(body).runFinding(K::DataRace, std::move(parts)); }
  void clean(const std::string &body) { launcher(body).runClean(); }
};

TEST(EmulatorAtomics, AcquireAndReleaseOrderBlocks) {
  auto body = [](const char *load, const char *store) {
    return std::string("int v = x[t]; if (b > 0) { if (t == 0) while (") + load +
           " == 0) {} __syncthreads(); v += y[64 * (b - 1) + t]; }\n" + "y[i] = v; __syncthreads(); if (t == 0) " + store + ";";
  };
  Chain c;
  c.clean(body("kc_load_acquire_i32(flags + b - 1)", "kc_store_release_i32(flags + b, 1)"));
  EXPECT_EQ(c.y[130], 3);
  c.finds(body("((volatile int *)flags)[b - 1]", "kc_store_release_i32(flags + b, 1)"), {"'y'", "nothing orders these blocks"});
  c.finds(body("kc_load_acquire_i32(flags + b - 1)", "((volatile int *)flags)[b] = 1"), {"'y'", "nothing orders these blocks"});
}

TEST(EmulatorAtomics, TicketsNeedFencesOfTheDevice) {
  auto body = [](const char *before, const char *take, const char *after) {
    return std::string("y[i] = x[t]; __syncthreads(); if (t == 0) { ") + before + " *s = " + take + " == 2; " + after +
           " } __syncthreads(); if (*s) y[t] = y[64 + t] + y[128 + t] + y[t];";
  };
  Chain c;
  c.clean(body("", "kc_add_acq_rel_i32(flags, 1)", ""));
  EXPECT_EQ(c.y[5], 3);
  c.clean(body("__threadfence();", "atomicAdd(flags, 1)", "__threadfence();"));
  c.finds(body("", "atomicAdd(flags, 1)", ""), {"'y'"});
  // A fence of the block tells other blocks nothing.
  c.finds(body("__threadfence_block();", "atomicAdd(flags, 1)", "__threadfence();"), {"'y'", "nothing orders these blocks"});
  c.finds(body("__threadfence();", "atomicAdd(flags, 1)", "__threadfence_block();"), {"'y'", "nothing orders these blocks"});
}

TEST(EmulatorAtomics, FencesOfTheBlockOrderItsOwnThreads) {
  Chain c;
  const std::string produce = "if (t == 0) { y[i] = 5; %s; atomicExch(flags + b, 1); }\n",
                    consume = "if (t == 32) { while (atomicAdd(flags + b, 0) == 0) {} %s; y[i] = "
                              "y[i - 32]; }\nif (t % 32) y[i] = 0;";
  auto with = [&](const std::string &first, const std::string &second) {
    std::string text = produce + consume;
    for (const std::string &f : {first, second})
      text.replace(text.find("%s"), 2, f);
    return text;
  };
  c.clean(with("__threadfence_block()", "__threadfence_block()"));
  c.clean(with("__threadfence()", "__threadfence_block()"));
  c.finds(with("", "__threadfence_block()"), {"'y'"});
  c.finds(with("__threadfence_block()", ""), {"'y'"});
}

TEST(EmulatorPrefetch, ObeysItsRules) {
  Chain c;
  c.clean("if (t == 0) kc_prefetch_bulk(x, 256); y[i] = 0;");
  c.launcher("if (t == 0) kc_prefetch_bulk(x + 1, 128); y[i] = 0;")
      .runFinding(K::Misaligned, {"cp.async.bulk.prefetch", "multiples of 16"});
  c.launcher("if (t == 0) kc_prefetch_bulk(x, 40); y[i] = 0;").runFinding(K::Misaligned, {"of 40 bytes"});
  c.launcher("if (t == 0) kc_prefetch_bulk(x + 4, 256); y[i] = 0;").runFinding(K::OutOfBounds, {"over the end of 'x'"});
}

TEST(EmulatorWgmma, RegistersWithOperandAAreNobodysInFlight) {
  std::vector<float> y(128 * 4);
  auto text = [](const std::string &body) {
    return "extern \"C\" __global__ void __launch_bounds__(128) kc_rs(float *y) {\n"
           "  unsigned char *smem = kc_shared(); int t = threadIdx.x;\n"
           "  for (int i = t; i < 256; i += 128) ((int *)smem)[i] = 0;\n"
           "  kc_fence_proxy_async(); __syncthreads();\n"
           "  unsigned long long b = kc_smem_desc(smem, 128, 256, 0);\n"
           "  float d[4]; unsigned a[4], later[4];\n"
           "  for (int i = 0; i < 4; i++) d[i] = 0.0f, a[i] = 0;\n" +
           body + "\n  for (int i = 0; i < 4; i++) y[128 * i + t] = d[i];\n}\n";
  };
  auto launcher = [&](const std::string &body) {
    Launcher l(text(body));
    l.out("y", y).block(128).shared(1024);
    return l;
  };
  const std::string issue = "kc_wgmma_rs_bf16<8, 0>(d, a, b, 1); kc_wgmma_commit();\n", wait = "kc_wgmma_wait<0>();\n",
                    again = "kc_wgmma_rs_bf16<8, 0>(d, later, b, 1); kc_wgmma_commit();\n",
                    write = "for (int i = 0; i < 4; i++) later[i] = 1;\n";
  launcher("kc_wgmma_fence(); " + issue + wait).runClean();
  launcher(write + "kc_wgmma_fence(); " + issue + again + wait).runClean();
  launcher(issue + wait).runFinding(K::OperandInFlight, {"wgmma.fence is missing"});
  launcher("kc_wgmma_fence(); " + issue + "a[0] = 1;\n" + wait)
      .runFinding(K::OperandInFlight, {"registers with operand A", "write by thread"});
  launcher("kc_wgmma_fence(); " + issue + write + again + wait)
      .runFinding(K::OperandInFlight, {"between writing the registers with operand A and wgmma"});
  launcher("kc_wgmma_fence(); " + issue + write + "kc_wgmma_fence(); " + again + wait).runClean();
}

} // namespace
} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What reads and writes of threads owe to the async proxy: fences before tensor copies write over
// what was read, or read what was written; and that a product which has taken its registers will do.
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

using K = FindingKind;

/// A map over `n` floats, in boxes of 32.
std::vector<uint8_t> mapOf(void *base, uint64_t n) {
  HostTensorMap m;
  m.base = base;
  m.type = ElementType::f32;
  m.rank = 1;
  m.dims[0] = n, m.box[0] = 32, m.elementStrides[0] = 1;
  std::vector<uint8_t> packed(128);
  EXPECT_TRUE(encodeTensorMap(m, packed.data()).ok());
  return packed;
}

std::string replaced(std::string text, const std::string &what, const std::string &with) {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

constexpr const char *kRead = "is then written asynchronously, without fence.proxy.async by the reader";
constexpr const char *kWritten = "is then accessed asynchronously, without fence.proxy.async by the writer";

// A slot that thread 0 fills by tensor copies, in turns with the warps that read it: READ, then BACK.
const char *kSlot = R"(
extern "C" __global__ void __launch_bounds__(96) kc_slot(const __grid_constant__ kc_tensor_map a, float *y) {
  unsigned char *smem = kc_shared();
  float *slot = (float *)smem;
  unsigned char *full = smem + 128, *empty = smem + 136;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    kc_mbarrier_init(full, 1);
    kc_mbarrier_init(empty, 2);
    kc_fence_mbarrier_init();
  }
  __syncthreads();
  if (warp == 0) {
    if (lane == 0)
      for (int r = 0; r < 4; ++r) {
        kc_mbarrier_wait(empty, (r + 1) % 2);
        kc_mbarrier_expect_tx(full, 128);
#line 7 "slot.kc"
        kc_tma_load_1d(slot, &a, 32 * r, full);
      }
  } else {
    for (int r = 0; r < 4; ++r) {
      kc_mbarrier_wait(full, r % 2);
#line 9 "slot.kc"
      READ
      BACK
      y[64 * r + threadIdx.x - 32] = v;
    }
  }
}
)";
const std::string kLoad = "float v = slot[lane];", kArrive = "__syncwarp(); if (lane == 0) kc_mbarrier_arrive(empty);",
                  kFence = "kc_fence_proxy_async(); ";

/// The slot's kernel on [0, 128).
struct Slot {
  std::vector<float> x, y = std::vector<float>(256);
  Slot() {
    for (int i = 0; i < 128; ++i)
      x.push_back(float(i));
  }
  Launcher launcher(const std::string &read, const std::string &back, uint64_t seed = 0) {
    EmulatorOptions options;
    options.seed = seed;
    Launcher l(replaced(replaced(kSlot, "READ", read), "BACK", back), options);
    l.spec.buffers = {{"x", x.data(), x.size() * 4, false}};
    l.spec.args = {mapOf(x.data(), x.size())};
    l.out("y", y).block(96).shared(144);
    return l;
  }
};

TEST(EmulatorProxy, ReadersFenceBeforeTheyGiveASlotBack) {
  for (uint64_t seed : {0, 1, 2}) {
    Slot s;
    s.launcher(kLoad, kFence + kArrive, seed).runClean();
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(s.y[i], s.x[i / 64 * 32 + i % 32]);
    s.launcher(kLoad, kArrive, seed)
        .runFinding(K::ProxyFence,
                    {"shared memory byte", kRead, "TMA load write by thread (0,0,0)", "(slot.kc:7), and read by thread", "(slot.kc:9)"});
  }
}

TEST(EmulatorProxy, AFenceIsTheReadersAndComesAfterTheRead) {
  Slot s;
  s.launcher(kLoad, "__syncwarp(); if (lane == 0) { kc_fence_proxy_async(); kc_mbarrier_arrive(empty); }")
      .runFinding(K::ProxyFence, {kRead});
  s.launcher(kFence + kLoad, kArrive).runFinding(K::ProxyFence, {kRead});
  s.launcher(kLoad, "if (warp == 1) kc_fence_proxy_async(); " + kArrive).runFinding(K::ProxyFence, {kRead});
  s.launcher("float v = slot[lane] + 1;", "v = v * 2; " + kArrive).runFinding(K::ProxyFence, {kRead}); // arithmetic is no proof
}

TEST(EmulatorProxy, AReaderThatFencesDoesNotSpeakForOneBeforeIt) {
  // Warp 1 reads, then warp 2 reads and fences, then both give the slot back.
  const std::string inTurns = "float v = 0; if (warp == 1) v = slot[lane]; kc_bar_sync(1, 64); if (warp == 2) { v = slot[lane]; FENCE } ";
  Slot s;
  s.launcher(replaced(inTurns, "FENCE", kFence), kArrive).runFinding(K::ProxyFence, {kRead, "thread (32,0,0)"});
  s.launcher(replaced(inTurns, "FENCE", ""), kFence + kArrive).runClean();
}

TEST(EmulatorProxy, MatrixLoadsAreReadsOfTheirLanes) {
  const std::string matrices = "unsigned m[1]; kc_ldmatrix_x1(m, smem + lane % 8 * 16); float v = (float)m[0];";
  Slot s;
  s.launcher(matrices, kFence + kArrive).runClean();
  s.launcher(matrices, kArrive).runFinding(K::ProxyFence, {kRead});
}

TEST(EmulatorProxy, ABarrierOfTheBlockDoesNotEndReads) {
  std::string text = R"(
extern "C" __global__ void __launch_bounds__(64) kc_block(const __grid_constant__ kc_tensor_map a, float *y) {
  unsigned char *smem = kc_shared();
  float *slot = (float *)smem;
  unsigned char *full = smem + 128;
  if (threadIdx.x == 0) { kc_mbarrier_init(full, 1); kc_fence_mbarrier_init(); }
  for (int r = 0; r < 4; ++r) {
    FENCE
    __syncthreads();
    if (threadIdx.x == 0) { kc_mbarrier_expect_tx(full, 128); kc_tma_load_1d(slot, &a, 32 * r, full); }
    kc_mbarrier_wait(full, r % 2);
    y[64 * r + threadIdx.x] = slot[threadIdx.x % 32];
  }
}
)";
  Slot s;
  auto launcher = [&](const std::string &fence) {
    Launcher l(replaced(text, "FENCE", fence));
    l.spec.buffers = {{"x", s.x.data(), s.x.size() * 4, false}};
    l.spec.args = {mapOf(s.x.data(), s.x.size())};
    l.out("y", s.y).block(64).shared(144);
    return l;
  };
  launcher(kFence).runClean();
  launcher("").runFinding(K::ProxyFence, {kRead});
}

// Operand A of a product passes from a slot through registers; operand B stays.
const char *kProduct = R"(
extern "C" __global__ void __launch_bounds__(160) kc_product(const __grid_constant__ kc_tensor_map a, float *y) {
  unsigned char *smem = kc_shared();
  unsigned *slot = (unsigned *)smem, *b = (unsigned *)(smem + 1024);
  unsigned char *full = smem + 128, *empty = smem + 136;
  int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) { kc_mbarrier_init(full, 1); kc_mbarrier_init(empty, 4); kc_fence_mbarrier_init(); }
  if (threadIdx.x < 64) b[threadIdx.x] = 0;
  kc_fence_proxy_async();
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (lane == 0)
      for (int r = 0; r < 4; ++r) {
        kc_mbarrier_wait(empty, (r + 1) % 2);
        kc_mbarrier_expect_tx(full, 128);
        kc_tma_load_1d(slot, &a, 32 * r, full);
      }
  } else {
    float d[4];
    for (int r = 0; r < 4; ++r) {
      kc_mbarrier_wait(full, r % 2);
      unsigned w[4], more = 0;
      for (int i = 0; i < 4; ++i)
        w[i] = slot[(lane + i) % 32];
      kc_wgmma_fence();
      kc_wgmma_rs_bf16<8, 0>(d, w, kc_smem_desc(b, 128, 256, 0), 0);
      kc_wgmma_commit();
      LATER
      WAIT
      __syncwarp();
      if (lane == 0) kc_mbarrier_arrive(empty);
      AFTER
      y[128 * r + threadIdx.x] = d[0] + (float)more;
    }
  }
}
)";

TEST(EmulatorProxy, AProductThatWasWaitedForHasTakenItsRegisters) {
  Slot s;
  s.y.resize(512);
  auto launcher = [&](const std::string &later, const std::string &wait, const std::string &after) {
    Launcher l(replaced(replaced(replaced(kProduct, "LATER", later), "WAIT", wait), "AFTER", after));
    l.spec.buffers = {{"x", s.x.data(), s.x.size() * 4, false}};
    l.spec.args = {mapOf(s.x.data(), s.x.size())};
    l.out("y", s.y).block(160).shared(1024 + 256);
    return l;
  };
  const std::string wait = "kc_wgmma_wait<0>();";
  launcher("", wait, "").runClean();
  launcher("", "", wait).runFinding(K::ProxyFence, {kRead, "read by thread"}); // given back before
  launcher("more = slot[lane];", wait, "").runFinding(K::ProxyFence, {kRead}); // read by no product
  launcher("more = slot[lane];", wait + " kc_fence_proxy_async();", "").runClean();
}

TEST(EmulatorProxy, TensorStoresOverWhatThreadsReadOfMemory) {
  std::string text = R"(
extern "C" __global__ void __launch_bounds__(32) kc_memory(const __grid_constant__ kc_tensor_map map, float *y, float *z) {
  float *slot = (float *)kc_shared();
  slot[threadIdx.x] = 1;
  FIRST
  z[threadIdx.x] = y[threadIdx.x];
  SECOND
  __syncwarp();
  if (threadIdx.x == 0) { kc_tma_store_1d(&map, slot, 0); kc_tma_commit(); kc_tma_wait<0>(); }
}
)";
  std::vector<float> y(32, 3), z(32);
  auto launcher = [&](const std::string &first, const std::string &second) {
    Launcher l(replaced(replaced(text, "FIRST", first), "SECOND", second));
    l.spec.args = {mapOf(y.data(), y.size())};
    l.inout("y", y).out("z", z).block(32).shared(128);
    return l;
  };
  launcher(kFence, "").runFinding(K::ProxyFence, {"global memory byte", kRead});
  launcher("", "").runFinding(K::ProxyFence, {"shared memory byte", kWritten});
  y.assign(32, 3);
  launcher("", kFence).runClean();
  EXPECT_EQ(z[5], 3);
  EXPECT_EQ(y[5], 1);
}

TEST(EmulatorProxy, TensorCopiesOfWhatAnotherBlockWrote) {
  std::string text = R"(
extern "C" __global__ void __launch_bounds__(32) kc_handed(const __grid_constant__ kc_tensor_map map, float *x, int *flag, float *y) {
  unsigned char *smem = kc_shared();
  if (blockIdx.x == 0) {
    x[threadIdx.x] = (float)threadIdx.x;
    FENCE
    __syncwarp();
    if (threadIdx.x == 0) { __threadfence(); atomicExch(flag, 1); }
    return;
  }
  if (threadIdx.x == 0) {
    kc_mbarrier_init(smem + 128, 1);
    kc_fence_mbarrier_init();
    while (atomicAdd(flag, 0) == 0) { }
    __threadfence();
    kc_mbarrier_expect_tx(smem + 128, 128);
    kc_tma_load_1d(smem, &map, 0, smem + 128);
  }
  __syncwarp();
  kc_mbarrier_wait(smem + 128, 0);
  y[threadIdx.x] = ((float *)smem)[threadIdx.x];
}
)";
  std::vector<float> x(32), y(32);
  std::vector<int> flag(1);
  auto launcher = [&](const std::string &fence) {
    flag[0] = 0;
    Launcher l(replaced(text, "FENCE", fence));
    l.spec.args = {mapOf(x.data(), x.size())};
    l.inout("x", x).inout("flag", flag).out("y", y).grid(2).block(32).shared(144);
    return l;
  };
  launcher(kFence).runClean();
  EXPECT_EQ(y[7], 7);
  launcher("").runFinding(K::ProxyFence, {"global memory byte", kWritten, "block 0"});
}

} // namespace
} // namespace kernelc::emulator

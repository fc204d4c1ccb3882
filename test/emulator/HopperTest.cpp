// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarriers, TMA, wgmma, setmaxnreg and clusters: a warp-specialised matmul, its
// mutants, every swizzle and both operand orders.
#include <algorithm>
#include <cmath>
#include <random>

#include "support/ElementType.h"
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

using K = FindingKind;

std::vector<float> smallIntegers(size_t n, unsigned seed) {
  std::mt19937 r(seed);
  std::vector<float> v(n);
  for (float &x : v)
    x = float(int(r() % 9) - 4);
  return v;
}
std::vector<uint16_t> narrow(const std::vector<float> &v) {
  std::vector<uint16_t> out;
  for (float x : v)
    out.push_back(toBF16(x));
  return out;
}
/// A map over row-major [rows, columns] of bf16.
std::vector<uint8_t> map2d(void *base, uint64_t rows, uint64_t columns, uint32_t boxRows, uint32_t boxColumns, int swizzle,
                           uint64_t pitch = 0) {
  HostTensorMap m;
  m.base = base;
  m.rank = 2;
  m.dims[0] = columns, m.dims[1] = rows;
  m.strides[1] = (pitch ? pitch : columns) * 2;
  m.box[0] = boxColumns, m.box[1] = boxRows;
  m.elementStrides[0] = m.elementStrides[1] = 1;
  m.swizzleBytes = swizzle;
  std::vector<uint8_t> packed(128);
  absl::Status s = encodeTensorMap(m, packed.data());
  EXPECT_TRUE(s.ok()) << s;
  return packed;
}

// C[M,N] = A[M,K] * B[N,K]^T in bf16; tile 128x64x64, one producer and two
// consumer warpgroups, a ring of two stages, epilogue through stmatrix and TMA.
const char *kGemm = R"(
extern "C" __global__ void __launch_bounds__(384) kc_gemm(const __grid_constant__ kc_tensor_map mapA, const __grid_constant__ kc_tensor_map mapB, const __grid_constant__ kc_tensor_map mapC, int tilesN, int stepsK) {
  unsigned char* smem = kc_shared();
  unsigned char* full = smem + 65536;
  unsigned char* empty = full + 16;
  int wg = threadIdx.x >> 7, t = threadIdx.x & 127;
  int m0 = (int)(blockIdx.x / tilesN) * 128, n0 = (int)(blockIdx.x % tilesN) * 64;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) { kc_mbarrier_init(full + 8 * i, 1); kc_mbarrier_init(empty + 8 * i, 2); }
    kc_fence_mbarrier_init();
  }
  __syncthreads(); // after init
  if (wg == 0) {
    kc_setmaxnreg_dec<40>();
    if (t == 0) {
      int slot = 0, phase = 1;
      for (int k = 0; k < stepsK; k++) {
        kc_mbarrier_wait(empty + 8 * slot, phase); // empty
        kc_mbarrier_expect_tx(full + 8 * slot, 24576);
        kc_tma_load_2d(smem + slot * 24576, &mapA, k * 64, m0, full + 8 * slot);
        kc_tma_load_2d(smem + slot * 24576 + 16384, &mapB, k * 64, n0, full + 8 * slot);
        if (++slot == 2) { slot = 0; phase ^= 1; }
      }
    }
  } else {
    kc_setmaxnreg_inc<232>();
    int c = wg - 1, lane = t & 31, warp = t >> 5;
    float d[32];
    for (int i = 0; i < 32; i++) d[i] = 0.0f;
    int slot = 0, phase = 0;
    for (int k = 0; k < stepsK; k++) {
      kc_mbarrier_wait(full + 8 * slot, phase); // full
      unsigned long long da = kc_smem_desc(smem + slot * 24576 + c * 8192, 16, 1024, 128);
      unsigned long long db = kc_smem_desc(smem + slot * 24576 + 16384, 16, 1024, 128);
      kc_wgmma_fence();
#pragma unroll
      for (int kk = 0; kk < 4; kk++)
        kc_wgmma_bf16<64, 0, 0>(d, kc_desc_advance(da, 32 * kk), kc_desc_advance(db, 32 * kk), k > 0 || kk > 0);
      kc_wgmma_commit();
      kc_wgmma_wait<0>();
      if (t == 0) kc_mbarrier_arrive(empty + 8 * slot);
      if (++slot == 2) { slot = 0; phase ^= 1; }
    }
    unsigned char* out = smem + 49152 + c * 8192;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      unsigned r[4] = {kc_pack_bf16(d[8 * j], d[8 * j + 1]), kc_pack_bf16(d[8 * j + 2], d[8 * j + 3]), kc_pack_bf16(d[8 * j + 4], d[8 * j + 5]), kc_pack_bf16(d[8 * j + 6], d[8 * j + 7])};
      int row = 16 * warp + (lane & 15), chunk = 2 * j + (lane >> 4);
      kc_stmatrix_x4(out + row * 128 + ((chunk ^ (row & 7)) << 4), r);
    }
    kc_fence_proxy_async();
    kc_bar_sync(1 + c, 128); // before store
    if (t == 0) {
      kc_tma_store_2d(&mapC, out, n0, m0 + 64 * c);
      kc_tma_commit();
      kc_tma_wait_read<0>();
    }
  }
}
)";

struct Gemm {
  int m = 192, n = 128, k = 192; // the last row of tiles is half outside
  std::vector<float> a, b;
  std::vector<uint16_t> na, nb, c;
  EmulatorOptions options;
  Gemm() : a(smallIntegers(size_t(m * k), 5)), b(smallIntegers(size_t(n * k), 6)), na(narrow(a)), nb(narrow(b)), c(size_t(m * n)) {}
  Launcher launcher(const std::string &text) {
    Launcher l(text, options);
    l.spec.buffers = {{"A", na.data(), na.size() * 2, false}, {"B", nb.data(), nb.size() * 2, false}, {"C", c.data(), c.size() * 2, true}};
    l.spec.args = {map2d(na.data(), m, k, 128, 64, 128), map2d(nb.data(), n, k, 64, 64, 128), map2d(c.data(), m, n, 64, 64, 128)};
    l.arg(n / 64).arg(k / 64).grid(uint32_t((m + 127) / 128 * (n / 64))).block(384).shared(65536 + 32);
    return l;
  }
  void check() {
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++) {
        float want = 0;
        for (int x = 0; x < k; x++)
          want += a[i * k + x] * b[j * k + x];
        ASSERT_EQ(c[i * n + j], toBF16(want)) << i << "," << j;
      }
  }
};

TEST(EmulatorHopper, WarpSpecialisedGemm) {
  Gemm g;
  Report r = g.launcher(kGemm).runClean();
  g.check();
  EXPECT_EQ(r.counts.mma, 4u * 2 * 3 * 4);
}

TEST(EmulatorHopper, AnyScheduleGivesTheSame) {
  for (uint64_t seed = 1; seed < 4; seed++) {
    Gemm g;
    g.options.seed = seed;
    g.launcher(kGemm).runClean();
    g.check();
  }
}

TEST(EmulatorHopper, EveryMutantOfTheGemmIsFound) {
  struct Mutant {
    const char *line, *with;
    std::vector<K> kinds;
  };
  const Mutant mutants[] = {
      {"__syncthreads(); // after init", "", {K::DataRace, K::BarrierProtocol}},
      {"kc_fence_mbarrier_init();", "", {K::ProxyFence}},
      {"kc_mbarrier_wait(empty + 8 * slot, phase); // empty", "", {K::DataRace, K::BarrierProtocol}},
      {"kc_mbarrier_wait(full + 8 * slot, phase); // full", "", {K::DataRace, K::Uninitialised}},
      {"int slot = 0, phase = 1;", "int slot = 0, phase = 0;", {K::Deadlock}},
      {"kc_mbarrier_expect_tx(full + 8 * slot, 24576);",
       "kc_mbarrier_expect_tx(full + 8 * slot, 16384);",
       {K::DataRace, K::BarrierProtocol, K::LostAsyncWork}},
      {"kc_mbarrier_expect_tx(full + 8 * slot, 24576);", "kc_mbarrier_expect_tx(full + 8 * slot, 32768);", {K::Deadlock}},
      {"kc_wgmma_fence();", "", {K::OperandInFlight}},
      {"kc_wgmma_wait<0>();", "", {K::LostAsyncWork, K::DataRace, K::OperandInFlight}},
      {"kc_wgmma_wait<0>();", "kc_wgmma_wait<1>();", {K::DataRace, K::OperandInFlight}},
      {"if (t == 0) kc_mbarrier_arrive(empty + 8 * slot);", "", {K::Deadlock}},
      {"if (t == 0) kc_mbarrier_arrive(empty + 8 * slot);",
       "if (t < 2) kc_mbarrier_arrive(empty + 8 * slot);",
       {K::DataRace, K::BarrierProtocol, K::Deadlock}},
      {"kc_fence_proxy_async();", "", {K::ProxyFence}},
      {"kc_bar_sync(1 + c, 128); // before store", "", {K::DataRace}},
      {"kc_tma_wait_read<0>();", "", {K::LostAsyncWork}},
      {"kc_tma_commit();", "", {K::LostAsyncWork}},
      {"kc_setmaxnreg_inc<232>();", "kc_setmaxnreg_inc<240>();", {K::Deadlock}},
      {"smem + slot * 24576 + c * 8192, 16, 1024, 128", "smem + slot * 24576 + c * 8192 + 65536, 16, 1024, 128", {K::OutOfBounds}},
  };
  for (const Mutant &mutant : mutants) {
    Gemm g;
    std::string text = kGemm;
    size_t at = text.find(mutant.line);
    ASSERT_NE(at, std::string::npos) << mutant.line;
    text.replace(at, std::string(mutant.line).size(), mutant.with);
    Report r = g.launcher("#line 1 \"gemm.kc\"" + text).run(); // the text begins with a new line
    EXPECT_FALSE(r.ok()) << "not found: " << mutant.line << " -> " << mutant.with;
    bool expected = false;
    for (const Finding &f : r.findings)
      for (K kind : mutant.kinds)
        expected |= f.kind == kind;
    EXPECT_TRUE(r.ok() || expected) << mutant.line << " -> " << mutant.with << "\n" << r.toString();
    for (const Finding &f : r.findings) {
      EXPECT_EQ(f.kernel, "kc_gemm");
      EXPECT_THAT(f.message, ::testing::HasSubstr("gemm.kc:")) << mutant.line;
      if (f.kind == K::DataRace) {
        EXPECT_GE(f.first.block, 0);
        EXPECT_GE(f.second.block, 0);
        EXPECT_GT(f.first.where.sourceLine * f.second.where.sourceLine, 0) << f.message;
      }
    }
  }
}

// Words that the threads of one warp copy, and that the other warp reads once an mbarrier has told it; two slots, four rounds.
const char *kFilled = R"(
extern "C" __global__ void __launch_bounds__(64) kc_filled(const float* x, float* y) {
  float* slots = (float*)kc_shared();
  unsigned char* full = kc_shared() + 256;
  unsigned char* empty = full + 16;
  int t = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) { kc_mbarrier_init(full + 8 * i, 32); kc_mbarrier_init(empty + 8 * i, 1); }
    kc_fence_mbarrier_init();
  }
  __syncthreads();
  for (int n = 0; n < 4; n++) {
    if (threadIdx.x < 32) {
      kc_mbarrier_wait(empty + n % 2 * 8, (n / 2 + 1) % 2); // empty
      kc_cp_async_zfill_4(&slots[n % 2 * 32 + t], &x[n * 32 + t], t < 30 ? 4 : 0);
      kc_cp_async_arrive(full + n % 2 * 8);
    } else {
      kc_mbarrier_wait(full + n % 2 * 8, n / 2 % 2); // full
      y[n * 32 + t] = slots[n % 2 * 32 + (t + 1) % 32];
      __syncwarp();
      if (t == 0) kc_mbarrier_arrive(empty + n % 2 * 8);
    }
  }
}
)";

TEST(EmulatorHopper, MbarriersTellOfWordsThatThreadsCopy) {
  std::vector<float> x(128), y(128);
  for (size_t i = 0; i < x.size(); i++)
    x[i] = float(i + 1);
  auto run = [&](const char *line, const char *with) {
    std::string text = kFilled;
    if (size_t at = text.find(line); *line)
      text.replace(at, std::string(line).size(), with);
    Launcher l(text);
    l.in("x", x).out("y", y).block(64).shared(512);
    return l.run();
  };
  Report right = run("", "");
  EXPECT_TRUE(right.ok()) << right.toString();
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[29], 0) << "zero where nothing is copied";
  EXPECT_EQ(y[31], 1);
  EXPECT_EQ(y[127], 97);
  auto hasOneOf = [](const Report &r, std::vector<K> kinds) {
    return std::any_of(r.findings.begin(), r.findings.end(),
                       [&](const Finding &f) { return std::find(kinds.begin(), kinds.end(), f.kind) != kinds.end(); });
  };
  // An arrival by itself says nothing of the copies; without any the reader waits for ever; without waits both meet in the slot.
  EXPECT_TRUE(hasOneOf(run("kc_cp_async_arrive(full", "kc_mbarrier_arrive(full"), {K::DataRace, K::LostAsyncWork, K::Uninitialised}));
  EXPECT_TRUE(hasOneOf(run("kc_cp_async_arrive(full + n % 2 * 8);", ""), {K::Deadlock}));
  EXPECT_TRUE(hasOneOf(run("kc_mbarrier_wait(full + n % 2 * 8, n / 2 % 2); // full", ""), {K::DataRace, K::Uninitialised}));
  EXPECT_TRUE(
      hasOneOf(run("kc_mbarrier_wait(empty + n % 2 * 8, (n / 2 + 1) % 2); // empty", ""), {K::DataRace, K::BarrierProtocol, K::Deadlock}));
  EXPECT_TRUE(hasOneOf(run("kc_cp_async_arrive(full + n % 2 * 8);", "kc_cp_async_arrive(full + n % 2 * 8); kc_cp_async_arrive(full);"),
                       {K::BarrierProtocol, K::DataRace, K::Uninitialised}));
}

TEST(EmulatorHopper, BlocksOfAMultiprocessorShareItsRegisters) {
  std::vector<int> y(256);
  auto text = [](const std::string &bounds) {
    return "extern \"C\" __global__ void __launch_bounds__(" + bounds +
           ") kc_shares(int* y) {\n  if (threadIdx.x < 128) { kc_setmaxnreg_dec<56>(); } else { kc_setmaxnreg_inc<200>(); }\n  "
           "y[threadIdx.x] = 1;\n}\n";
  };
  Launcher two(text("256, 2"));
  two.out("y", y).block(256).runClean(); // 128 at entry
  Launcher one(text("256"));
  one.out("y", y).block(256).runFinding(K::InvalidOperation, {"setmaxnreg.inc to 200 from 256 registers"});
}

TEST(EmulatorHopper, MbarrierUsesAreNamed) {
  std::vector<int> y(64);
  auto text = [](const std::string &body) {
    return "extern \"C\" __global__ void __launch_bounds__(64) kc_bar(int* y) {\n  unsigned char* "
           "bar = kc_shared();\n  int t = threadIdx.x; (void)t;\n" +
           body + "\n}\n";
  };
  auto finds = [&](const std::string &body, K kind, std::vector<std::string> parts) {
    Launcher l(text(body));
    l.out("y", y).block(64).shared(64).runFinding(kind, parts);
  };
  const std::string init = "if (t == 0) { kc_mbarrier_init(bar, 32); kc_fence_mbarrier_init(); } __syncthreads();\n";
  finds(init + "if (t < 31) kc_mbarrier_arrive(bar); kc_mbarrier_wait(bar, 0); y[t] = 1;", K::Deadlock,
        {"64 threads", "parity 0 of the mbarrier at shared byte 0", "31 of 32 arrivals"});
  finds("kc_mbarrier_wait(bar + 8, 0);", K::BarrierProtocol, {"shared byte 8", "never initialised"});
  finds("kc_mbarrier_wait(bar + 4, 0);", K::OutOfBounds, {"8-byte aligned"});
  // Arrivals release, waits acquire.
  const std::string exchange = "int* s = (int*)(bar + 16); if (t < 8) s[t] = t; if (t < 32) kc_mbarrier_arrive(bar);\n";
  Launcher clean(text(init + exchange + "kc_mbarrier_wait(bar, 0); y[t] = s[t & 7];"));
  clean.out("y", y).block(64).shared(64).runClean();
  EXPECT_EQ(y[13], 5);
  finds(init + exchange + "if (t != 40) kc_mbarrier_wait(bar, 0); y[t] = s[t & 7];", K::DataRace, {"(40,0,0)"});
}

/// D = A * B^T of one wgmma whose operands come through TMA with the given swizzle
/// and order; the map's box is one panel, several are loaded side by side.
void checkOperandLayouts(int swizzle, bool transposeA, bool transposeB) {
  const int m = 64, n = 64, k = 64;
  auto a = smallIntegers(m * k, 7), b = smallIntegers(n * k, 8);
  std::vector<uint16_t> na(m * k), nb(n * k);
  for (int i = 0; i < m; i++)
    for (int x = 0; x < k; x++) {
      na[transposeA ? x * m + i : i * k + x] = toBF16(a[i * k + x]);
      nb[transposeB ? x * n + i : i * k + x] = toBF16(b[i * k + x]);
    }
  std::vector<float> c(m * n);
  int panel = (swizzle ? swizzle : 16) / 2; // elements along the contiguous dimension
  std::string text = R"(
template <int TA, int TB> __device__ __forceinline__ void product(unsigned char* smem, float (&d)[32]) {
  // K-major: panels of 64 rows by SPAN bytes of K; MN-major: panels of SPAN bytes by 64 rows of K
  constexpr int SPAN = SPANVALUE, SW = SWIZZLEVALUE;
  kc_wgmma_fence();
  for (int kk = 0; kk < 4; kk++) {
    auto desc = [&](unsigned char* p, int t) {
      if (!t) return SW ? kc_smem_desc(p + (32 * kk / SPAN) * 64 * SPAN + 32 * kk % SPAN, 16, 8 * SPAN, SW)
                        : kc_smem_desc(p + 2 * kk * 1024, 1024, 128, 0);
      return SW ? kc_smem_desc(p + 16 * kk * SPAN, 64 * SPAN, 8 * SPAN, SW)
                : kc_smem_desc(p + 16 * kk * 16, 128, 64 * 16, 0);
    };
    kc_wgmma_bf16<64, TA, TB>(d, desc(smem, TA), desc(smem + 8192, TB), kk > 0);
  }
  kc_wgmma_commit();
  kc_wgmma_wait<0>();
}
extern "C" __global__ void __launch_bounds__(128) kc_layouts(const __grid_constant__ kc_tensor_map a, const __grid_constant__ kc_tensor_map b, float* c) {
  unsigned char* smem = kc_shared();
  int t = threadIdx.x;
  if (t == 0) {
    kc_mbarrier_init(smem + 16384, 1);
    kc_fence_mbarrier_init();
    kc_mbarrier_expect_tx(smem + 16384, 16384);
    for (int p = 0; p < 64 / PANELVALUE; p++) {
      kc_tma_load_2d(smem + p * 64 * SPANVALUE, &a, p * PANELVALUE, 0, smem + 16384);
      kc_tma_load_2d(smem + 8192 + p * 64 * SPANVALUE, &b, p * PANELVALUE, 0, smem + 16384);
    }
  }
  __syncthreads();
  kc_mbarrier_wait(smem + 16384, 0);
  float d[32];
  product<TAVALUE, TBVALUE>(smem, d);
  for (int i = 0; i < 32; i++) {
    int row = t / 32 * 16 + t % 32 / 4 + 8 * (i >> 1 & 1), column = 8 * (i / 4) + 2 * (t % 4) + (i & 1);
    c[row * 64 + column] = d[i];
  }
}
)";
  auto put = [&](const std::string &what, int value) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
      text.replace(at, what.size(), std::to_string(value));
  };
  put("SPANVALUE", panel * 2);
  put("SWIZZLEVALUE", swizzle);
  put("PANELVALUE", panel);
  put("TAVALUE", transposeA);
  put("TBVALUE", transposeB);
  Launcher l(text);
  l.spec.buffers = {{"a", na.data(), na.size() * 2, false}, {"b", nb.data(), nb.size() * 2, false}};
  l.spec.args = {map2d(na.data(), 64, 64, 64, uint32_t(panel), swizzle), map2d(nb.data(), 64, 64, 64, uint32_t(panel), swizzle)};
  l.out("c", c).block(128).shared(16384 + 8).runClean();
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float want = 0;
      for (int x = 0; x < k; x++)
        want += a[i * k + x] * b[j * k + x];
      ASSERT_EQ(c[i * n + j], want) << "swizzle " << swizzle << " at " << i << "," << j;
    }
}

TEST(EmulatorHopper, EverySwizzleAndOperandOrder) {
  for (int swizzle : {128, 64, 32, 0}) {
    checkOperandLayouts(swizzle, false, false);
    checkOperandLayouts(swizzle, true, true);
  }
  checkOperandLayouts(128, false, true);
}

TEST(EmulatorHopper, ClusterMulticastAndRemoteArrival) {
  // Two blocks each load half of a row and multicast it to both.
  std::vector<uint16_t> x(128), y(256);
  for (int i = 0; i < 128; i++)
    x[i] = uint16_t(i);
  std::string text = R"(
extern "C" __global__ void __launch_bounds__(32) kc_cluster(const __grid_constant__ kc_tensor_map a, unsigned short* y) {
  unsigned char* smem = kc_shared();
  unsigned char* bar = smem + 256;
  int t = threadIdx.x, rank = kc_cluster_rank();
  if (t == 0) {
    kc_mbarrier_init(bar, 1);
    kc_mbarrier_init(bar + 8, 2);
    kc_fence_mbarrier_init();
  }
  kc_cluster_sync(); // both are initialised
  if (t == 0) {
    kc_mbarrier_expect_tx(bar, 256);
    kc_tma_load_multicast_1d(smem + 128 * rank, &a, 64 * rank, bar, 3);
  }
  kc_mbarrier_wait(bar, 0);
  for (int i = t; i < 128; i += 32) y[blockIdx.x * 128 + i] = ((unsigned short*)smem)[i];
  __syncwarp();
  if (t == 0) for (int b = 0; b < 2; b++) kc_mbarrier_arrive_cluster(bar + 8, b);
  kc_mbarrier_wait(bar + 8, 0);
}
)";
  auto launch = [&](const std::string &source) {
    Launcher l(source);
    HostTensorMap m;
    m.base = x.data();
    m.rank = 1;
    m.dims[0] = 128, m.box[0] = 64, m.elementStrides[0] = 1;
    std::vector<uint8_t> packed(128);
    EXPECT_TRUE(encodeTensorMap(m, packed.data()).ok());
    l.spec.buffers = {{"a", x.data(), 256, false}};
    l.spec.args = {packed};
    l.out("y", y).grid(2).block(32).shared(272);
    l.spec.cluster = 2;
    return l;
  };
  launch(text).runClean();
  for (int i = 0; i < 256; i++)
    EXPECT_EQ(y[i], x[i % 128]);
  text.replace(text.find("kc_cluster_sync(); // both"), 18, "__syncthreads(); ");
  Report r = launch(text).run();
  EXPECT_FALSE(r.ok());
}

// Every third element of a row from one before its beginning, rounded to tf32 with ties to even.
TEST(EmulatorHopper, TensorCopiesStepAndRound) {
  std::vector<float> x(32 * 8), y(4 * 4 * 8);
  for (size_t i = 0; i < x.size(); i++)
    x[i] = 1 + float(i % 7) / 1024 + (i % 2 ? 0x1p-11f : 0x1p-12f); // a tie, or below one
  std::string text = R"(
extern "C" __global__ void __launch_bounds__(32) kc_step(const __grid_constant__ kc_tensor_map a, float* y) {
  unsigned char* smem = kc_shared();
  unsigned char* bar = smem + 1024;
  int t = threadIdx.x;
  if (t == 0) {
    kc_mbarrier_init(bar, 1);
    kc_fence_mbarrier_init();
    kc_mbarrier_expect_tx(bar, 128);
    kc_tma_load_2d(smem, &a, 0, -1, bar);
  }
  __syncwarp();
  kc_mbarrier_wait(bar, 0);
  y[t] = ((float*)smem)[t];
}
)";
  Launcher l(text);
  HostTensorMap m;
  m.base = x.data();
  m.type = ElementType::f32;
  m.rank = 2;
  m.dims[0] = 8, m.dims[1] = 32;
  m.strides[1] = 32;
  m.box[0] = 8, m.box[1] = 10; // rows -1, 2, 5, 8
  m.elementStrides[0] = 1, m.elementStrides[1] = 3;
  m.roundsToTf32 = true;
  std::vector<uint8_t> packed(128);
  ASSERT_TRUE(encodeTensorMap(m, packed.data()).ok());
  l.spec.buffers = {{"a", x.data(), x.size() * 4, false}};
  l.spec.args = {packed};
  l.out("y", y).block(32).shared(1040).runClean();
  for (int row = 0; row < 4; row++)
    for (int c = 0; c < 8; c++) {
      double v = row ? x[size_t(8 * (3 * row - 1) + c)] : 0;
      EXPECT_EQ(y[size_t(8 * row + c)], std::nearbyint(v * 1024) / 1024) << row << " " << c; // ties to even
    }
  m.type = ElementType::bf16;
  EXPECT_FALSE(encodeTensorMap(m, packed.data()).ok());
}

// What an H200 was seen to do: boxes start at 16 bytes of a row, and stores write whole granules.
TEST(EmulatorHopper, TensorCopiesWorkInGranules) {
  auto run = [](const std::string &call, uint64_t columns) {
    static std::vector<uint16_t> y;
    y.assign(8 * 72, 7);
    std::string text = R"(
extern "C" __global__ void __launch_bounds__(32) kc_granule(const __grid_constant__ kc_tensor_map a) {
  unsigned char* smem = kc_shared();
  for (int i = threadIdx.x; i < 512; i += 32) ((unsigned short*)smem)[i] = 9;
  kc_fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) { )" +
                       call + R"( kc_tma_commit(); kc_tma_wait_read<0>(); }
}
)";
    Launcher l(text);
    l.spec.buffers = {{"y", y.data(), y.size() * 2, true}};
    l.spec.args = {map2d(y.data(), 8, columns, 8, 64, 128, 72)};
    l.block(32).shared(1024);
    return std::pair(l.run(), y);
  };
  auto [aligned, y] = run("kc_tma_store_2d(&a, smem, 0, 0);", 61);
  EXPECT_TRUE(aligned.ok()) << aligned.toString();
  EXPECT_EQ(y[60], 9);
  EXPECT_EQ(y[61], 9) << "behind the window, in its last granule";
  EXPECT_EQ(y[63], 9);
  EXPECT_EQ(y[64], 7);
  auto [added, sums] = run("kc_tma_reduce_add_2d(&a, smem, 0, 0);", 61);
  EXPECT_TRUE(added.ok()) << added.toString();
  EXPECT_EQ(sums[60], 16);
  EXPECT_EQ(sums[61], 16) << "reductions too";
  EXPECT_EQ(sums[64], 7);
  auto [shifted, same] = run("kc_tma_store_2d(&a, smem, 4, 0);", 64);
  EXPECT_FALSE(shifted.ok());
  EXPECT_EQ(same[4], 7);
  // Nor do they start before the tensor; they may end behind it.
  for (const char *call :
       {"kc_tma_store_2d(&a, smem, -8, 0);", "kc_tma_store_2d(&a, smem, 0, -1);", "kc_tma_reduce_add_2d(&a, smem, 0, -1);"}) {
    auto [before, unchanged] = run(call, 64);
    EXPECT_NE(before.toString().find("of a box that starts at -"), std::string::npos) << call << before.toString();
    EXPECT_EQ(unchanged[0], 7);
  }
  auto [behind, last] = run("kc_tma_store_2d(&a, smem, 0, 7);", 64);
  EXPECT_TRUE(behind.ok()) << behind.toString();
  EXPECT_EQ(last[7 * 72], 9);
}

TEST(EmulatorHopper, TensorMapRules) {
  std::vector<uint16_t> x(64 * 64);
  HostTensorMap m;
  m.base = x.data();
  m.rank = 2;
  m.dims[0] = m.dims[1] = 64;
  m.strides[1] = 128;
  m.box[0] = m.box[1] = 64;
  m.elementStrides[0] = m.elementStrides[1] = 1;
  m.swizzleBytes = 128;
  uint8_t out[128];
  EXPECT_TRUE(encodeTensorMap(m, out).ok());
  auto refused = [&](auto change, const char *part) {
    HostTensorMap bad = m;
    change(bad);
    EXPECT_THAT(encodeTensorMap(bad, out).ToString(), ::testing::HasSubstr(part));
  };
  refused([](HostTensorMap &b) { b.base = static_cast<char *>(b.base) + 8; }, "multiple of 16");
  refused([](HostTensorMap &b) { b.strides[1] = 130; }, "stride 1 is 130");
  refused([](HostTensorMap &b) { b.box[1] = 257; }, "box dimension 1 is 257");
  refused([](HostTensorMap &b) { b.swizzleBytes = 64; }, "exceeds the swizzle");
  refused([](HostTensorMap &b) { b.box[0] = 4; }, "not a multiple of 16");
}

} // namespace
} // namespace kernelc::emulator

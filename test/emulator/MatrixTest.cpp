// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mma.sync, ldmatrix and stmatrix against plain loops, bit exact where the
// arithmetic is (small integers).
#include <ctime>
#include <random>

#include "support/ElementType.h"
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

std::vector<float> smallIntegers(size_t n, unsigned seed) {
  std::mt19937 r(seed);
  std::vector<float> v(n);
  for (float &x : v)
    x = float(int(r() % 9) - 4);
  return v;
}
std::vector<uint16_t> narrow(const std::vector<float> &v, bool bf16) {
  std::vector<uint16_t> out;
  for (float x : v)
    out.push_back(bf16 ? toBF16(x) : toF16(x));
  return out;
}

/// A[16,K] row-major, B[8,K] (N by K), C[16,8]; fragments by direct loads.
void checkMma(const std::string &helper, int k, int perRegister, bool half) {
  auto a = smallIntegers(16 * k, 1), b = smallIntegers(8 * k, 2);
  std::vector<float> c(128);
  std::vector<uint8_t> packedA, packedB;
  auto pack = [&](const std::vector<float> &v, std::vector<uint8_t> &out) {
    for (float x : v) {
      if (perRegister == 2) {
        uint16_t h = half ? toF16(x) : toBF16(x);
        out.push_back(uint8_t(h));
        out.push_back(uint8_t(h >> 8));
      } else if (perRegister == 1) {
        uint8_t bytes[4];
        std::memcpy(bytes, &x, 4);
        out.insert(out.end(), bytes, bytes + 4);
      } else {
        out.push_back(helper.find("e4m3") != std::string::npos ? toF8E4M3(x) : uint8_t(int8_t(x)));
      }
    }
  };
  pack(a, packedA);
  pack(b, packedB);
  bool integer = helper.find("k32_s8") != std::string::npos || helper.find("k32_u8") != std::string::npos;
  std::string kinds = helper.substr(helper.rfind('_') + 1); // of A, then B
  auto value = [&](float x, bool isA) { return integer && kinds[isA ? 0 : kinds.size() - 2] == 'u' ? float(uint8_t(int8_t(x))) : x; };
  int halves = k / (4 * perRegister);
  std::string text = R"(
extern "C" __global__ void __launch_bounds__(32) kc_frag(const unsigned* A, const unsigned* B, float* C) {
  int g = threadIdx.x >> 2, t = threadIdx.x & 3;
  unsigned a[2 * H], b[H];
  TYPE d[4] = {1, 1, 1, 1};
#pragma unroll
  for (int h = 0; h < H; h++) {
    a[2 * h] = A[g * W + 4 * h + t];
    a[2 * h + 1] = A[(g + 8) * W + 4 * h + t];
    b[h] = B[g * W + 4 * h + t];
  }
  HELPER(d, a, b);
  C[g * 8 + 2 * t] = d[0]; C[g * 8 + 2 * t + 1] = d[1];
  C[(g + 8) * 8 + 2 * t] = d[2]; C[(g + 8) * 8 + 2 * t + 1] = d[3];
}
)";
  auto put = [&](const std::string &what, const std::string &with) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
      text.replace(at, what.size(), with);
  };
  put("HELPER", helper);
  put("TYPE", integer ? "int" : "float");
  put("* W", "* " + std::to_string(k / perRegister));
  put("H]", std::to_string(halves) + "]");
  put("[2 * H]", "[" + std::to_string(2 * halves) + "]");
  put("[2 * " + std::to_string(halves) + "]", "[" + std::to_string(2 * halves) + "]");
  put("h < H", "h < " + std::to_string(halves));
  Launcher l(text);
  l.in("A", packedA).in("B", packedB).out("C", c).block(32).runClean();
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      float want = 1;
      for (int x = 0; x < k; x++)
        want += value(a[i * k + x], true) * value(b[j * k + x], false);
      ASSERT_EQ(c[i * 8 + j], want) << helper << " at " << i << "," << j;
    }
}

TEST(EmulatorMatrix, FragmentsOfEveryMma) {
  checkMma("kc_mma_m16n8k16_bf16", 16, 2, false);
  checkMma("kc_mma_m16n8k16_f16", 16, 2, true);
  checkMma("kc_mma_m16n8k8_f16", 8, 2, true);
  checkMma("kc_mma_m16n8k8_tf32", 8, 1, false);
  for (const char *kind : {"s8", "u8", "s8u8", "u8s8"})
    checkMma(std::string("kc_mma_m16n8k32_") + kind, 32, 4, false);
  checkMma("kc_mma_m16n8k32_e4m3", 32, 4, false);
}

TEST(EmulatorMatrix, StmatrixUndoesLdmatrix) {
  std::vector<uint16_t> x(256), y(256), z(256);
  for (int i = 0; i < 256; i++)
    x[i] = uint16_t(i);
  Launcher l(R"(
extern "C" __global__ void __launch_bounds__(32) kc_lds(const uint4* x, uint4* y, uint4* z) {
  uint4* s = reinterpret_cast<uint4*>(kc_shared());
  int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  unsigned r[4];
  kc_ldmatrix_x4(r, s + (t & 15) * 2 + (t >> 4));
  kc_stmatrix_x4(s + 32 + (t & 15) * 2 + (t >> 4), r);
  kc_ldmatrix_x4_trans(r, s + (t & 15) * 2 + (t >> 4));
  kc_stmatrix_x4(s + 64 + (t & 15) * 2 + (t >> 4), r);
  __syncwarp();
  y[t] = s[32 + t];
  z[t] = s[64 + t];
}
)");
  l.in("x", x).out("y", y).out("z", z).block(32).shared(96 * 16).runClean();
  EXPECT_EQ(x, y);
  for (int i = 0; i < 16; i++) // each 8x8 block transposed in place
    for (int j = 0; j < 16; j++)
      EXPECT_EQ(z[i * 16 + j], x[(i / 8 * 8 + j % 8) * 16 + j / 8 * 8 + i % 8]);
}

/// 128x128 block of C = A[M,K] * B[N,K]^T, 8 warps, cp.async, ldmatrix, two stages.
const char *kMatmul = R"(
extern "C" __global__ void __launch_bounds__(256) kc_matmul(const unsigned short* __restrict__ A, const unsigned short* __restrict__ B, float* __restrict__ C, int N, int K) {
  unsigned char* smem = kc_shared();
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  int m0 = blockIdx.y * 128, n0 = blockIdx.x * 128;
  int wm = (warp >> 1) * 32, wn = (warp & 1) * 64;
  float acc[2][8][4];
  for (int i = 0; i < 2; i++) for (int j = 0; j < 8; j++) for (int c = 0; c < 4; c++) acc[i][j][c] = 0.0f;
  // rows of 32 elements, 64 bytes; 16-byte chunk swizzled by (row >> 1) & 3
  auto load = [&](int stage, int k0) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int row = (t >> 2) + 64 * i, chunk = t & 3;
      int at = stage * 16384 + row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4);
      kc_cp_async_16(smem + at, A + (long long)(m0 + row) * K + k0 + chunk * 8);
      kc_cp_async_16(smem + 8192 + at, B + (long long)(n0 + row) * K + k0 + chunk * 8);
    }
    kc_cp_async_commit();
  };
  load(0, 0);
  int stages = K / 32;
  for (int k = 0; k < stages; k++) {
    if (k + 1 < stages) load((k + 1) & 1, (k + 1) * 32); else kc_cp_async_commit();
    kc_cp_async_wait<1>();
    __syncthreads();
    unsigned char* a = smem + (k & 1) * 16384;
    unsigned char* b = a + 8192;
#pragma unroll
    for (int kk = 0; kk < 2; kk++) {
      unsigned fa[2][4], fb[4][4];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int row = wm + 16 * i + (lane & 15), chunk = 2 * kk + (lane >> 4);
        kc_ldmatrix_x4(fa[i], a + row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4));
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int row = wn + 16 * j + (lane & 7) + 8 * (lane >> 4), chunk = 2 * kk + ((lane >> 3) & 1);
        kc_ldmatrix_x4(fb[j], b + row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4));
      }
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
          unsigned bb[2] = {fb[j >> 1][2 * (j & 1)], fb[j >> 1][2 * (j & 1) + 1]};
          kc_mma_m16n8k16_bf16(acc[i][j], fa[i], bb);
        }
    }
    __syncthreads();
  }
  kc_cp_async_wait<0>();
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 8; j++) {
      int row = m0 + wm + 16 * i + (lane >> 2), col = n0 + wn + 8 * j + 2 * (lane & 3);
      *reinterpret_cast<float2*>(C + (long long)row * N + col) = make_float2(acc[i][j][0], acc[i][j][1]);
      *reinterpret_cast<float2*>(C + (long long)(row + 8) * N + col) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
}
)";

TEST(EmulatorMatrix, PipelinedMatmulWithinItsTime) {
  const int n = 256;
  auto a = smallIntegers(n * n, 3), b = smallIntegers(n * n, 4);
  auto na = narrow(a, true), nb = narrow(b, true);
  std::vector<float> c(n * n);
  Launcher l(kMatmul);
  l.in("A", na).in("B", nb).out("C", c).arg(n).arg(n).grid(2, 2).block(256).shared(32768);
  std::clock_t start = std::clock();
  Report r = l.runClean();
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  RecordProperty("milliseconds", int(seconds * 1000));
  std::printf("256^3 checked in %.3f s\n", seconds);
  EXPECT_LT(seconds, 5.0);
  EXPECT_EQ(r.counts.mma, 256u / 16 * 256 / 8 * 256 / 16);
  for (int i = 0; i < n; i += 7)
    for (int j = 0; j < n; j++) {
      float want = 0;
      for (int k = 0; k < n; k++)
        want += a[i * n + k] * b[j * n + k];
      ASSERT_EQ(c[i * n + j], want);
    }
}

TEST(EmulatorMatrix, EverySynchronisationOfTheMatmulIsNeeded) {
  const int n = 128;
  auto na = narrow(smallIntegers(n * n, 3), true);
  std::vector<float> c(n * n);
  std::string text = kMatmul;
  for (const char *what : {"kc_cp_async_wait<1>();", "__syncthreads();\n    unsigned", "__syncthreads();\n  }"}) {
    std::string mutant = text;
    size_t at = mutant.find(what), end = mutant.find(';', at);
    mutant.replace(at, end + 1 - at, ";");
    Launcher l(mutant);
    l.in("A", na).in("B", na).out("C", c).arg(n).arg(n).grid(1, 1).block(256).shared(32768);
    Report r = l.run();
    EXPECT_FALSE(r.ok()) << "not found: the removal of " << what;
    if (!r.ok()) {
      EXPECT_TRUE(r.findings.front().kind == FindingKind::DataRace || r.findings.front().kind == FindingKind::Uninitialised)
          << r.toString();
    }
  }
}

} // namespace
} // namespace kernelc::emulator

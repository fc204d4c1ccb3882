// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From text to a checked result with no GPU: every kind of kernel, awkward sizes.
#include "EndToEnd.h"

#include <ctime>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

TEST(EndToEnd, Saxpy) {
  const char *text = "def saxpy(a: f32, x: f32[N], y: f32[N]) -> (z: f32[N]) { z[i] = a * x[i] + y[i] }";
  for (int64_t n : {1, 7, 1000, 4096, 5001})
    EXPECT_EQ(runCase({text, {{"N", n}}}), "") << n;
}

TEST(EndToEnd, Softmax) {
  const char *text = "def s(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 33}, {5, 1000}, {2, 4097}}) {
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}, "", "sm_80", false}), "") << m << "x" << n << " general";
  }
}

TEST(EndToEnd, ColumnSum) {
  const char *text = "def c(x: f32[M, N]) -> (y: f32[N]) { y[j] = sum[i](x[i, j]) }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {100, 33}, {37, 256}})
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
}

// Tiles smaller than the block: several threads hold an element, one writes it.
TEST(EndToEnd, InPlaceOnSmallTiles) {
  const char *text = "def f(inout x: f32[M, N], y: f32[M, N]) { x[i, j] = x[i, j] + 2 * y[i, j] }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 40}, {1, 1}, {40, 136}})
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
}

TEST(EndToEnd, Transpose) {
  const char *text = "def t(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }";
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {100, 33}, {64, 128}})
    EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << m << "x" << n;
}

// Tiles that hold nothing but coordinates or constants have no registers of their own.
TEST(EndToEnd, CoordinatesAndConstants) {
  EXPECT_EQ(runCase({"def a(x: f32[M, N]) -> (y: i64[M]) { y[i] = argmax[j](x[i, j]) }", {{"M", 2}, {"N", 1024}}}), "");
  EXPECT_EQ(runCase({"def p(x: f32[N]) -> (y: f32[N]) { y[i] = x.pad(2)[i - 1] + x.pad(0)[i + 1] }", {{"N", 70}}}), "");
  EXPECT_EQ(runCase({"def t(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] if i < 5 else 1 }", {{"N", 70}}}), "");
}

// Definitions that stay tensors: their readers are in their launch, of one tile or of a loop over tiles.
TEST(EndToEnd, LargeSharedDefinitions) {
  std::string large = "x[i, j]";
  for (int n = 0; n < 40; ++n)
    large += " + abs(x[i, j] - " + std::to_string(n) + ")";
  std::string outputs = "  y[i, j] = t[i, j] * 2\n  z[i, j] = t[i, j] * 3\n}";
  std::string pointwise = "def f(x: f32[M, N]) -> (y: f32[M, N], z: f32[M, N]) {\n  let t[i, j] = " + large + "\n" + outputs;
  std::string rows = "def f(x: f32[M, N]) -> (y: f32[M, N], z: f32[M, N]) {\n  let m[i] = max[j](x[i, j])\n  let t[i, j] = m[i] * (" +
                     large + ")\n" + outputs;
  for (const std::string &text : {pointwise, rows})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 77}, {2, 5000}})
      EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}}}), "") << text << m << "x" << n;
}

// Compile time grows with the text, not with its square.
TEST(EndToEnd, LongTextsCompile) {
  auto sumOf = [](int terms, const std::string &term) {
    std::string sum;
    for (int n = 0; n < terms; ++n)
      sum += (n ? " + " : "") + std::regex_replace(term, std::regex("#"), std::to_string(n + 1));
    return sum;
  };
  for (const std::string &text : {"def f(x: f32[K]) -> (y: f32[]) { y[] = " + sumOf(400, "sum[k](x[k] * #)") + " }",
                                  "def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = " + sumOf(400, "max[k, k % # == 0](x[i, k])") + " }",
                                  "def f(x: f32[K]) -> (y: f32[K]) { y[i] = " + sumOf(6000, "x[i]") + " }"}) {
    std::clock_t start = std::clock(); // processor time: a busy machine does not add to it
    EXPECT_NE(cudaTextOf({text, {{"K", 64}, {"M", 2}}}).find("__global__"), std::string::npos);
    EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 5.0); // about one: no pass may be of a higher order than the text
  }
}

// Subscripts of indices that no affine map says: proved from what their operations give.
TEST(EndToEnd, SubscriptsThatAreNotAffine) {
  for (const char *subscript : {"i >> 1", "i & 3", "(i ^ 1) % N", "abs(i - 3) % N", "(1 if i > 0 else 0) % N", "i - 1 if i > 0 else 0",
                                "min(i, 3) % N", "(i * i) % N", "i32(i % 40) % N", "(i | 5) % N"}) {
    std::string text = std::string("def f(x: f32[N]) -> (y: f32[N]) {\n  require N >= 1\n  y[i] = x[") + subscript + "]\n}";
    for (int64_t n : {1, 5, 77})
      EXPECT_EQ(runCase({text, {{"N", n}}}), "") << text << n;
  }
}

TEST(EndToEnd, Matmul) {
  for (const char *access : {"a[i, k] * b[k, j]", "a[i, k] * b[j, k]", "a[k, i] * b[k, j]", "a[k, i] * b[j, k]"})
    for (const char *type : {"f32", "bf16", "f16"}) {
      std::string a = std::string(access).substr(2, 1) == "i" ? "[M, K]" : "[K, M]";
      std::string b = std::string(access).find("b[k") != std::string::npos ? "[K, N]" : "[N, K]";
      std::string text =
          "def m(a: " + (type + a) + ", b: " + (type + b) + ") -> (c: " + type + "[M, N]) { c[i, j] = sum[k](" + access + ") }";
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 64}, {65, 72, 40}, {17, 33, 19}})
        EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}, {"K", k}}}), "") << text << " " << m << "x" << n << "x" << k;
    }
}

std::string matmulText(const std::string &access, const std::string &aType, const std::string &bType, const std::string &cType) {
  std::string a = access[2] == 'i' ? "[M, K]" : "[K, M]", b = access.find("b[k") != std::string::npos ? "[K, N]" : "[N, K]";
  return "def m(a: " + aType + a + ", b: " + bType + b + ") -> (c: " + cType + "[M, N]) { c[i, j] = sum[k](" + access + ") }";
}
constexpr const char *kTranspositions[] = {"a[i, k] * b[k, j]", "a[i, k] * b[j, k]", "a[k, i] * b[k, j]", "a[k, i] * b[j, k]"};

// 8-bit integers of either sign on the matrix unit (sm_80) and on CUDA cores (sm_75).
TEST(EndToEnd, MatmulOfBytes) {
  for (const char *access : kTranspositions)
    for (auto [a, b] : {std::pair<const char *, const char *>{"i8", "i8"}, {"u8", "u8"}, {"u8", "i8"}, {"i8", "u8"}}) {
      std::string text = matmulText(access, a, b, "i32");
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 64}, {65, 72, 48}, {17, 33, 35}})
        EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}, {"K", k}}}), "") << text << " " << m << "x" << n << "x" << k;
      EXPECT_EQ(runCase({text, {{"M", 33}, {"N", 20}, {"K", 40}}, "", "sm_75"}), "") << text;
    }
}

// Several rows', columns' and reduced indices, zero padding, batches.
TEST(EndToEnd, ConvolutionAndBatches) {
  auto conv = [](const char *type, const char *out) {
    return std::string("def conv(x: ") + type + "[N, H, W, C], f: " + type + "[R, S, C, O]) -> (y: " + out +
           "[N, H, W, O]) { y[n, h, w, o] = sum[r, s, c](x.pad(0)[n, h + r - R // 2, w + s - S // 2, c] * f[r, s, c, o]) }";
  };
  Sizes sizes{{"N", 1}, {"H", 5}, {"W", 6}, {"C", 16}, {"R", 3}, {"S", 3}, {"O", 24}};
  EXPECT_EQ(runCase({conv("i8", "i32"), sizes}), "");
  EXPECT_EQ(runCase({conv("f32", "f32"), sizes, "", "sm_80", true, "contract=tf32", true}), "");
  EXPECT_EQ(runCase({conv("f32", "f32"),
                     {{"N", 2}, {"H", 4}, {"W", 3}, {"C", 3}, {"R", 3}, {"S", 1}, {"O", 17}},
                     "",
                     "sm_80",
                     true,
                     "contract=tf32",
                     true}),
            "");
  const char *batches = "def b(a: i8[B, K, M], b: u8[B, K, N]) -> (c: i32[B, M, N]) { c[h, i, j] = sum[k](a[h, k, i] * b[h, k, j]) }";
  EXPECT_EQ(runCase({batches, {{"B", 3}, {"M", 20}, {"N", 36}, {"K", 52}}}), "");
  const char *crossed = "def x(a: i8[K, M, L], b: i8[N, K, L]) -> (c: i32[M, N]) { c[i, j] = sum[l, k](a[k, i, l] * b[j, k, l]) }";
  EXPECT_EQ(runCase({crossed, {{"M", 20}, {"N", 36}, {"K", 16}, {"L", 7}}}), "");
}

TEST(EndToEnd, BytesUseTheMatrixUnit) {
  std::string text = matmulText(kTranspositions[0], "u8", "i8", "i32");
  EXPECT_NE(cudaTextOf({text, {{"M", 64}, {"N", 64}, {"K", 64}}}).find("kc_mma_m16n8k32_u8s8(&"), std::string::npos);
  EXPECT_EQ(cudaTextOf({text, {{"M", 64}, {"N", 64}, {"K", 64}}, "", "sm_75"}).find("kc_mma"), std::string::npos);
}

// Two reduced indices, each contiguous in another operand; rows of fewer than 16
// bytes; operands of two types that a third holds exactly.
TEST(EndToEnd, FragmentsElementByElement) {
  const char *crossed = "def c(a: bf16[M, L, K], b: bf16[N, K, L]) -> (c: f32[M, N]) { c[i, j] = sum[k, l](a[i, l, k] * b[j, k, l]) }";
  EXPECT_EQ(runCase({crossed, {{"M", 40}, {"N", 33}, {"K", 4}, {"L", 8}}}), "");
  EXPECT_EQ(runCase({crossed, {{"M", 40}, {"N", 33}, {"K", 16}, {"L", 9}}}), "");
  const char *thin = "def t(a: bf16[M, L, K], b: bf16[L, K, N]) -> (c: f32[M, N]) { c[i, j] = sum[l, k](a[i, l, k] * b[l, k, j]) }";
  EXPECT_EQ(runCase({thin, {{"M", 40}, {"N", 33}, {"L", 9}, {"K", 4}}}), "");
}

// CUDA cores read vectors only where neighbours in a slot are neighbours of the product: here
// they lie along the slower of two columns, rows, reduced indices.
TEST(EndToEnd, VectorsAlongSlowerIndices) {
  const char *columns = "def n(a: f32[I, K], b: f32[K, L, J]) -> (c: f32[I, J, L]) { c[i, j, l] = sum[k](a[i, k] * b[k, l, j]) }";
  const char *rows = "def m(a: f32[K, L, J], b: f32[K, I]) -> (c: f32[J, L, I]) { c[j, l, i] = sum[k](a[k, l, j] * b[k, i]) }";
  for (const char *text : {columns, rows})
    for (auto [i, j, l, k] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{32, 48, 4, 32}, {33, 47, 3, 19}})
      EXPECT_EQ(runCase({text, {{"I", i}, {"J", j}, {"L", l}, {"K", k}}}), "") << text;
  const char *reduced = "def k(a: f32[I, Q, P], b: f32[J, Q, P]) -> (c: f32[I, J]) { c[i, j] = sum[p, q](a[i, q, p] * b[j, q, p]) }";
  for (auto [p, q] : {std::pair<int64_t, int64_t>{16, 4}, {17, 5}, {3, 40}})
    EXPECT_EQ(runCase({reduced, {{"I", 33}, {"J", 48}, {"P", p}, {"Q", q}}}), "") << p << " " << q;
}

TEST(EndToEnd, OperandsOfTwoTypes) {
  for (const char *access : kTranspositions)
    for (auto [a, b] : {std::pair<const char *, const char *>{"bf16", "f16"}, {"f8e4m3", "f8e5m2"}, {"bf16", "f8e4m3"}}) {
      std::string text = matmulText(access, a, b, "f32");
      EXPECT_EQ(runCase({text, {{"M", 40}, {"N", 33}, {"K", 36}}}), "") << text;
      EXPECT_NE(cudaTextOf({text, {{"M", 40}, {"N", 33}, {"K", 36}}}).find("kc_mma_"), std::string::npos) << text;
    }
  const char *weights =
      "def w(x: bf16[M, K], w: i8[N, K], s: f32[N]) -> (y: bf16[M, N]) { y[i, j] = s[j] * sum[k](x[i, k] * f32(w[j, k])) }";
  EXPECT_EQ(runCase({weights, {{"M", 40}, {"N", 33}, {"K", 72}}}), "");
  EXPECT_NE(cudaTextOf({weights, {{"M", 40}, {"N", 33}, {"K", 72}}}).find("kc_mma_m16n8k16_bf16"), std::string::npos);
  // f64 sums stay on CUDA cores.
  const char *wide = "def d(a: bf16[M, K], b: bf16[N, K]) -> (c: f64[M, N]) { c[i, j] = sum[k](f64(a[i, k]) * f64(b[j, k])) }";
  EXPECT_EQ(runCase({wide, {{"M", 40}, {"N", 33}, {"K", 36}}}), "");
}

// The reference rounds where the policy says, so that all devices agree to the sums' order.
TEST(EndToEnd, MatmulByPolicy) {
  for (const char *access : kTranspositions)
    for (const char *type : {"tf32", "bf16", "f16"}) {
      std::string text = matmulText(access, "f32", "f32", "f32"), policy = std::string("contract=") + type;
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 32}, {65, 72, 40}, {17, 33, 19}})
        EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}, {"K", k}}, "", "sm_80", true, policy, true}), "") << text << " " << type;
      // Too old for the unit, or too thin: rounded on CUDA cores.
      EXPECT_EQ(runCase({text, {{"M", 33}, {"N", 20}, {"K", 24}}, "", "sm_75", true, policy, true}), "") << text << " " << type;
      EXPECT_EQ(runCase({text, {{"M", 5}, {"N", 20}, {"K", 24}}, "", "sm_80", true, policy, true}), "") << text << " " << type;
    }
}

// Two bf16 (tf32) an operand: as good as f32 to 2^-16 (2^-22) of each term; infinities and NaN stay what they are.
// The largest number of bf16 is below that of f32: parts keep f32's range.
TEST(EndToEnd, PartsKeepTheRange) {
  for (const char *policy : {"contract=bf16x3", "contract=tf32x3"})
    EXPECT_EQ(
        runCase({"def m(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k]((a[i, k] * 0.0 + 3.4e38) * (b[j, k] * 0.001)) }",
                 {{"M", 33}, {"N", 40}, {"K", 16}},
                 "",
                 "sm_90a",
                 true,
                 policy}),
        "")
        << policy;
}

TEST(EndToEnd, MatmulInParts) {
  for (const char *access : kTranspositions) {
    std::string text = matmulText(access, "f32", "f32", "f32");
    for (const char *target : {"sm_80", "sm_90a"})
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 32}, {65, 72, 40}, {17, 33, 19}})
        for (const char *policy : {"contract=bf16x3", "contract=tf32x3"})
          EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}, {"K", k}}, "", target, true, policy, true}), "") << text << " " << target << policy;
  }
  std::string mixed = "def m(a: f32[M, K], b: bf16[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";
  EXPECT_EQ(runCase({mixed, {{"M", 64}, {"N", 40}, {"K", 33}}, "", "sm_80", true, "contract=bf16x3", true}), "");
  EXPECT_NE(cudaTextOf({mixed, {{"M", 64}, {"N", 40}, {"K", 32}}, "", "sm_80", true, "contract=bf16x3"}).find("kc_mma_m16n8k16_bf16(&"),
            std::string::npos);
}

TEST(EndToEnd, PolicyChoosesTheUnit) {
  Sizes sizes{{"M", 64}, {"N", 64}, {"K", 64}};
  std::string text = matmulText(kTranspositions[1], "f32", "f32", "f32");
  EXPECT_EQ(cudaTextOf({text, sizes}).find("kc_mma"), std::string::npos) << "without a policy nothing is rounded";
  EXPECT_NE(cudaTextOf({text, sizes, "", "sm_80", true, "contract=tf32"}).find("kc_mma_m16n8k8_tf32(&"), std::string::npos);
  EXPECT_NE(cudaTextOf({text, sizes, "", "sm_80", true, "contract=f16"}).find("kc_mma_m16n8k16_f16(&"), std::string::npos);
  std::string own = text;
  own.insert(own.find('{') + 1, " precision(contract = bf16, accumulate = f32) ");
  EXPECT_NE(cudaTextOf({own, sizes}).find("kc_mma_m16n8k16_bf16(&"), std::string::npos);
  EXPECT_NE(cudaTextOf({own, sizes, "", "sm_80", true, "contract=tf32"}).find("kc_mma_m16n8k8_tf32(&"), std::string::npos)
      << "the caller's policy takes the place of the kernel's";
}

// What is outside along other dims than the vector's: whole vectors of padding.
TEST(EndToEnd, PadsWholeVectors) {
  const char *text = "def shift(x: bf16[H, C]) -> (y: bf16[H, C]) { y[h, c] = x.pad(3)[h - 2, c] + x.pad(1)[h + 1, c] }";
  Case c{text, {{"H", 1731}, {"C", 64}}}; // launches of few points have no vectors
  c.expect = "*(const uint4 *)&x[";
  EXPECT_EQ(runCase(c), "");
  EXPECT_EQ(runCase({text, {{"H", 11}, {"C", 64}}}), "");
  EXPECT_EQ(runCase({text, {{"H", 11}, {"C", 63}}}), "");
  EXPECT_EQ(runCase({"def shift(x: bf16[H, C]) -> (y: bf16[H, C]) { y[h, c] = x.pad(3)[h, c - 8] }", {{"H", 5}, {"C", 64}}}), "");
}

// One operand rounded, the other exact in tf32; computed operands; an epilogue.
TEST(EndToEnd, PolicyOnMixedAndComputedOperands) {
  const char *text = "def f(x: f32[M, K], w: bf16[N, K], b: f32[N]) -> (y: f32[M, N]) { let e[i, k] = exp(x[i, k]) "
                     "let a[i, j] = sum[k](e[i, k] * w[j, k]) y[i, j] = a[i, j] + b[j] }";
  EXPECT_EQ(runCase({text, {{"M", 40}, {"N", 33}, {"K", 36}}, "", "sm_80", true, "contract=tf32", true}), "");
  EXPECT_NE(cudaTextOf({text, {{"M", 40}, {"N", 33}, {"K", 36}}, "", "sm_80", true, "contract=tf32"}).find("kc_mma_m16n8k8_tf32(&"),
            std::string::npos);
}

TEST(EndToEnd, IntegersToHalves) {
  const char *text = "def h(x: i8[N], u: u8[N], w: i32[N]) -> (a: bf16[N], b: f16[N], c: bf16[N]) { a[i] = bf16(x[i])  b[i] = f16(u[i])  "
                     "c[i] = bf16(w[i] * 1000003) }";
  EXPECT_EQ(runCase({text, {{"N", 1000}}}), "");
}

// Rounded once: through f32 or f64 these would meet a tie that is none.
TEST(EndToEnd, WideIntegersToHalves) {
  const char *text = "def h(x: i64[N], u: u64[N], w: i32[N]) -> (a: bf16[N], b: f16[N], c: bf16[N], d: f16[N], e: bf16[N]) { a[i] = "
                     "bf16(x[i])  b[i] = f16(x[i] >> 47)"
                     "  c[i] = bf16(u[i])  d[i] = f16(u[i] >> 48)  e[i] = bf16(w[i]) }";
  int64_t tie = (int64_t(1) << 62) + (int64_t(1) << 54);
  Case c{text, {{"N", 6}}};
  c.values = {{"x", {tie, tie + 1, -tie, -tie - 1, tie - 1, 65519}},
              {"u", {tie, tie + 1, -1, -tie, (1ll << 40) + (1ll << 32) + 1, 7}},
              {"w", {(1 << 30) + (1 << 22), (1 << 30) + (1 << 22) + 1, -(1 << 30) - (1 << 22) - 1, 16777217, 65519, 65520}}};
  EXPECT_EQ(runCase(c), "");
  EXPECT_EQ(runCase({text, {{"N", 1000}}}), "");
}

// The number of points that a mean divides by depends on the outer index as its sum does; it is no scan.
TEST(EndToEnd, MeansUpToAnOuterIndex) {
  const char *text = "def m(x: f32[M, N]) -> (y: f32[M], z: f32[M], v: f32[N]) { y[i] = mean[k, i <= k, k < i + 3](x[i, k])"
                     "  z[i] = mean[k, k <= i](x[i, k])  v[j] = mean[k, k >= j, x[k, j] > 0](x[k, j]) }";
  EXPECT_EQ(runCase({text, {{"M", 37}, {"N", 33}}}), "");
}

// One bound of several is the range; the others, of scalars and data as well, are conditions. Windows stay windows.
// A loop that ends where one number says, the same for all threads wherever a block has put it: its rounds meet at barriers.
TEST(EndToEnd, ThinProductsThatEndByData) {
  for (const char *term : {"s[i, j] * v[j, e]", "relu(s[i, j]) * v[j, e]"})
    for (const char *target : {"sm_80", "sm_90a"})
      for (int64_t n : {0, 50, 96}) {
        std::string text =
            std::string("def f(s: f32[M, N], n: i32[], v: f32[N, E]) -> (o: f32[M, E]) { o[i, e] = sum[j, j < n[]](") + term + ") }";
        EXPECT_EQ(runCase({text, {{"M", 80}, {"N", 96}, {"E", 8}}, "", target, true, "", false, "", false, {}, false, {}, {{"n", {n}}}}),
                  "")
            << text << n;
      }
}

// A sum over two indices beside statements of the same rows that have neither: a tile holds a row's worth of its points.
TEST(EndToEnd, SumsOverTwoIndicesBesideRows) {
  const char *text = "def f(n: i32[], x: i32[N]) -> (y: f32[M, N], z: i64[M]) {\n"
                     "  let t[i] = sum[a in 0:min(n[], M), b in N // 2:N, x[b] != 0](i + 1) where i in 0:M\n"
                     "  y[i, j] = f32(xor[k in 0:N](t[i] + k))\n  z[i] = t[i]\n}";
  for (const char *target : {"sm_80", "sm_90a"})
    for (int64_t n : {33, 100})
      EXPECT_EQ(runCase({text, {{"M", n}, {"N", n}}, "", target, true, "", false, "", false, {}, false, {}, {{"n", {20}}}}), "") << n;
}

TEST(EndToEnd, RangesWithSeveralBounds) {
  const char *text =
      "def r(x: f32[M, N], v: f32[N], l: i32[M], n: i64) -> (a: f32[M], b: f32[N], c: f32[M], d: f32[M], e: i64[M], f: f32[N])"
      " { a[i] = mean[max(0, i - 2) <= k <= min(i + 2, N - 1, 5)](x[i, k])  b[i] = max[max(0, i - 1) <= k < min(i + 2, N)](v[k])"
      "  c[i] = sum[k in 0:min(n, N)](x[i, k])  d[i] = mean[k in max(l[i], 0):N](x[i, k])  e[i] = argmax[max(n, 3) <= k < min(2 * n, "
      "N)](x[i, k])"
      "  f[i] = v[i] where i in 0:min(N, 10)  f[i] = 0 where 10 <= i < N }";
  for (int64_t n : {-1, 0, 5, 70})
    for (const char *arch : {"sm_80", "sm_90a"}) {
      Case c{text, {{"M", 7}, {"N", 33}}, "", arch};
      c.values = {{"l", {0, 3, 33, 40, -4, 1, 5}}, {"n", {n}}};
      EXPECT_EQ(runCase(c), "") << n;
    }
  EXPECT_EQ(runCase({"def p(x: bf16[M, K], w: bf16[N, K], n: i64) -> (y: f32[M, N]) { y[i, j] = sum[k in 0:min(n, K)](x[i, k] * w[j, k]) }",
                     {{"M", 40}, {"N", 24}, {"K", 64}},
                     "",
                     "sm_80"}),
            "");
}

TEST(EndToEnd, StatementsBesideEachOther) {
  const char *text =
      "def s(x: f32[N, N], v: f32[N]) -> (y: f32[N, N], z: f32[N], w: f32[2 * N]) { y[i, j] = x[i, j] where i != j  y[i, i] = 1"
      "  z[i] = sum[j, j != i](x[i, j]) where not (3 <= i and i <= 7 or i == 12)  z[i] = 0 where i >= 3, i <= 7  z[i] = v[i] where i == 12"
      "  w[2 * i] = v[i] where i % 3 != 0  w[2 * i] = 7 where i % 3 == 0  w[2 * i + 1] = -v[i] }";
  for (int64_t n : {1, 9, 37})
    EXPECT_EQ(runCase({text, {{"N", n}}}), "") << n;
}

TEST(EndToEnd, ParityOfConditions) {
  const char *text = "def p(x: bool[M, N], inout z: bool[M]) -> (y: bool[M]) { y[i] xor= x[i, j]  y[i] xor= x[i, j] where j > 5, x[i, j]  "
                     "z[i] xor= x[i, j] }";
  EXPECT_EQ(runCase({text, {{"M", 37}, {"N", 33}}}), "");
}

/// A product whose results are reduced over rows, over columns and over both.
std::string reducedProduct(const std::string &type, const std::string &sum, bool transposed) {
  return "def r(a: " + type + "[M, K], b: " + type + (transposed ? "[N, K]" : "[K, N]") + ") -> (c: " + sum + "[M, N], m: " + sum +
         "[M], s: " + sum + "[N], t: " + sum + "[]) { let p[i, j] = sum[k](a[i, k] * " + (transposed ? "b[j, k]" : "b[k, j]") +
         ") c[i, j] = p[i, j] + 1 m[i] = max[j](p[i, j]) s[j] = sum[i](p[i, j]) t = max[i, j](abs(p[i, j])) }";
}

// The results need not be stored for it: the product's launch has partial results of its tiles.
TEST(EndToEnd, ReducesProductsInTheirTiles) {
  auto keepsResults = [](const Case &c) { return cudaTextOf(c).find("float *__restrict__ p,") != std::string::npos; };
  for (const char *arch : {"sm_75", "sm_80", "sm_90a"})
    for (bool transposed : {true, false})
      for (auto [type, sum] : {std::pair("bf16", "f32"), {"f32", "f32"}, {"i8", "i32"}, {"f8e4m3", "f32"}}) {
        Case c{reducedProduct(type, sum, transposed), {{"M", 128}, {"N", 256}, {"K", 72}}, "", arch, true};
        EXPECT_EQ(runCase(c), "") << c.text << " " << arch;
        EXPECT_FALSE(keepsResults(c)) << c.text << " " << arch;
      }
  // Tiles larger than what is reduced in them; teams that take tiles in turns.
  std::string rows = "def r(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N], m: f32[M]) { let p[i, j] = sum[k](a[i, k] * b[j, k]) c[i, j] "
                     "= p[i, j] m[i] = max[j](p[i, j]) }";
  for (const char *fields :
       {R"("tiles": {"j": 128}, "stages": 4)", R"("tiles": {"i": 64, "j": 64}, "pingpong": 2, "warps": 4, "stages": 4)"}) {
    Case c{rows, {{"M", 256}, {"N", 256}, {"K", 72}}, "", "sm_90a", true};
    c.schedule = std::string(R"([{"kernel": "r", "launch": "c", )") + fields + "}]";
    EXPECT_EQ(runCase(c), "") << c.schedule;
  }
  // Rows and columns that are no multiples of a tile's.
  Case odd{reducedProduct("bf16", "f32", true), {{"M", 100}, {"N", 300}, {"K", 72}}, "", "sm_90a", true};
  EXPECT_EQ(runCase(odd), "");
  EXPECT_FALSE(keepsResults(odd));
}

// Products of which one side has few points: sums that stream the other operand.
TEST(EndToEnd, StreamsTheOperandOfThinProducts) {
  auto product = [](const std::string &type, const std::string &x, const std::string &w, const std::string &reads) {
    return "def p(x: " + type + "[" + x + "], w: " + type + "[" + w + "], b: f32[N]) -> (y: " + (type == "i8" ? "i32" : type) +
           "[M, N]) { let p[i, j] = sum[k](" + reads + ") y[i, j] = p[i, j]" + (type == "i8" ? " }" : " + b[j] }");
  };
  for (const char *arch : {"sm_80", "sm_90a"})
    for (auto [x, w, reads] :
         {std::tuple("M, K", "K, N", "x[i, k] * w[k, j]"), {"M, K", "N, K", "x[i, k] * w[j, k]"}, {"K, M", "N, K", "x[k, i] * w[j, k]"}})
      for (const char *type : {"bf16", "f32", "i8"})
        for (auto [m, n, k] :
             {std::tuple<int64_t, int64_t, int64_t>{1, 130, 300}, {3, 67, 1025}, {6, 65, 301}, {8, 64, 512}, {70, 1, 520}}) {
          Case c{product(type, x, w, reads), {{"M", m}, {"N", n}, {"K", k}}, "", arch, true};
          EXPECT_EQ(runCase(c), "") << c.text << " " << m << "x" << n << "x" << k << " " << arch;
        }
}

// Parts of a sum that no chunk divides: the last one is shorter.
TEST(EndToEnd, ProductsWhoseLastPartIsShorter) {
  for (const char *arch : {"sm_80", "sm_90a"})
    for (auto [a, b, reads] :
         {std::tuple("M, K", "K, N", "a[i, k] * b[k, j]"), {"M, K", "N, K", "a[i, k] * b[j, k]"}, {"K, M", "K, N", "a[k, i] * b[k, j]"}})
      for (const char *type : {"bf16", "f32", "i8"})
        for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{64, 64, 3008}, {24, 40, 2056}, {17, 33, 2101}}) {
          bool whole = std::string(type) == "i8";
          Case c{std::string("def p(a: ") + type + "[" + a + "], b: " + type + "[" + b + "]) -> (c: " + (whole ? "i32" : "f32") +
                     "[M, N]) { c[i, j] = sum[k](" + reads + ") }",
                 {{"M", m}, {"N", n}, {"K", k}},
                 "",
                 arch,
                 true};
          c.expect = "kc_p_c_part";
          EXPECT_EQ(runCase(c), "") << c.text << " " << m << "x" << n << "x" << k << " " << arch;
        }
}

// Long ones are merged by a cluster or a second launch.
TEST(EndToEnd, SharesThinProductsOut) {
  std::string text = "def p(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) { y[i, j] = sum[k](x[i, k] * w[k, j]) }";
  Case shared{text, {{"M", 4}, {"N", 256}, {"K", 20000}}, "", "sm_90a", true};
  shared.schedule = R"([{"kernel": "p", "merge": "cluster"}])";
  shared.expect = "kc_cluster_rank";
  EXPECT_EQ(runCase(shared), "");
  Case split{text, {{"M", 4}, {"N", 256}, {"K", 20480}}, "", "sm_80", true};
  split.expect = "kc_p_y_part";
  EXPECT_EQ(runCase(split), "");
  for (int64_t k : {20001, 20016}) { // the last part is shorter
    Case last{text, {{"M", 4}, {"N", 256}, {"K", k}}, "", "sm_90a", true};
    last.expect = "kc_p_y_part";
    EXPECT_EQ(runCase(last), "") << k;
  }
}

// Sums of any kind whose last part is shorter, along rows and across them, and further conditions on what is summed.
TEST(EndToEnd, ReductionsWhoseLastPartIsShorter) {
  for (auto [body, part] : {std::pair("(y: f32[M]) { y[i] = sum[k](x[k, i]) }", "kc_p_y_part"),
                            {"(y: f32[M]) { y[i] = max[k](x[k, i]) }", "kc_p_y_part"},
                            {"(y: f32[M]) { y[i] = min[k, k > i](x[k, i]) }", "kc_p_y_part"},
                            {"(y: f32[]) { y[] = min[k, i](x[k, i]) }", "kc_p_y_part"}})
    for (int64_t k : {70001, 70016})
      for (const char *arch : {"sm_80", "sm_90a"}) {
        Case c{std::string("def p(x: f32[K, M]) -> ") + body, {{"M", 12}, {"K", k}}, "", arch, true};
        c.expect = part;
        EXPECT_EQ(runCase(c), "") << body << " " << k << " " << arch;
      }
}

// Clusters of two over an odd number of tiles: the last block has none, and stores that no tensor copy makes have to know.
TEST(EndToEnd, OddTilesInClusters) {
  std::string text = "def f(a: bf16[M, K], b: bf16[100, K]) -> (y: bf16[M, 100]) { y[i, j] = sum[k](a[i, k] * b[j, k]) }";
  Case c{text, {{"M", 192}, {"K", 72}}, "", "sm_90a", true};
  c.schedule = R"([{"kernel": "f", "launch": "y", "tiles": {"i": 64}, "cluster": 2}])";
  EXPECT_EQ(runCase(c), "");
  EXPECT_NE(cudaTextOf(c).find("kc_cluster_rank"), std::string::npos);
}

// Reductions that need each other's results, over rows that one tile has.
TEST(EndToEnd, LogsumexpOfAProduct) {
  std::string text =
      "def l(a: bf16[M, K], b: bf16[100, K]) -> (y: bf16[M, 100], l: f32[M], v: f32[M]) { let p[i, j] = sum[k](a[i, k] * b[j, k]) "
      "y[i, j] = p[i, j] l[i] = logsumexp[j](p[i, j]) v[i] = var[j](p[i, j]) }";
  for (const char *arch : {"sm_80", "sm_90a"})
    EXPECT_EQ(runCase({text, {{"M", 192}, {"K", 72}}, "", arch, true}), "") << arch;
}

// One tile has whole rows: all of a softmax is in the product's launch.
TEST(EndToEnd, SoftmaxOfAProduct) {
  std::string text = "def s(a: bf16[M, K], b: bf16[128, K]) -> (y: bf16[M, 128]) { let p[i, j] = sum[k](a[i, k] * b[j, k]) y[i, j] = "
                     "softmax[j](p[i, j]) }";
  for (const char *arch : {"sm_80", "sm_90a"}) {
    Case c{text, {{"M", 192}, {"K", 72}}, "", arch, true};
    EXPECT_EQ(runCase(c), "") << arch;
    EXPECT_EQ(cudaTextOf(c).find("kc_s_"), std::string::npos) << "several launches";
  }
}

// Rows, columns and all of a product of any extent, in its launch: results in rows of 16 bytes and of others, stored by tensor
// copies, by vectors and one by one, in their order and transposed.
TEST(EndToEnd, ReductionsOfAProductOfAnyExtent) {
  std::string text = "def r(a: bf16[M, K], b: bf16[K, N], d: bf16[N]) -> (y: bf16[M, N], z: f16[N, M], q: f32[M], s: f32[N], t: f32[]) { "
                     "let p[i, j] = sum[k](a[i, k] * b[k, j]) y[i, j] = gelu(p[i, j] + d[j]) z[j, i] = p[i, j] q[i] = sum[j](p[i, j]**2) "
                     "s[j] = max[i](p[i, j] + f32(i) - d[j]) t = min[i, j](p[i, j]) }";
  for (const char *arch : {"sm_75", "sm_80", "sm_90a"})
    for (auto [m, n, k] :
         {std::tuple(1, 1, 1), std::tuple(7, 200, 8), std::tuple(63, 129, 24), std::tuple(129, 136, 17), std::tuple(136, 65, 16)})
      for (bool specialized : {true, false})
        EXPECT_EQ(runCase({text, {{"M", m}, {"N", n}, {"K", k}}, "", arch, specialized}), "")
            << arch << " " << m << "x" << n << "x" << k << (specialized ? "" : " general");
  EXPECT_EQ(cudaTextOf({text, {{"M", 129}, {"N", 136}, {"K", 16}}, "", "sm_90a", true}).find("float *__restrict__ p"), std::string::npos)
      << "the product goes through memory";
}

/// Every example, at sizes that fit no tile, in the specialised and the general
/// variant.
struct Example {
  const char *file, *kernel;
  Sizes sizes;
};
class Examples : public testing::TestWithParam<Example> {};

std::string readExample(const std::string &file) {
  std::ifstream in(std::string(KERNELC_SOURCE_DIR) + "/examples/" + file + ".kc");
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

TEST_P(Examples, RunsOnTheEmulator) {
  const Example &e = GetParam();
  std::string text = readExample(e.file);
  ASSERT_NE(text, "");
  EXPECT_EQ(runCase({text, e.sizes, e.kernel, "sm_80", true}), "");
  EXPECT_EQ(runCase({text, e.sizes, e.kernel, "sm_90a", false}), "") << "general";
}

INSTANTIATE_TEST_SUITE_P(
    All, Examples,
    testing::Values(
        Example{"argmax", "row_argmax", {{"M", 5}, {"N", 77}}},
        Example{"attention", "attention", {{"B", 1}, {"H", 4}, {"G", 2}, {"S", 19}, {"T", 37}, {"D", 24}}},
        Example{"batched_matmul", "batched_matmul", {{"B", 3}, {"M", 20}, {"N", 36}, {"K", 52}}},
        Example{"column_norm", "column_norm", {{"M", 45}, {"N", 67}}}, Example{"column_sum", "column_sum", {{"M", 45}, {"N", 67}}},
        Example{"concat", "concat", {{"M", 5}, {"N", 9}, {"K", 33}}},
        Example{"conv2d", "conv2d", {{"N", 1}, {"H", 5}, {"W", 6}, {"C", 16}, {"R", 3}, {"S", 3}, {"O", 24}}},
        Example{"layernorm", "layer_norm", {{"M", 5}, {"N", 70}}}, Example{"linear", "linear", {{"M", 40}, {"N", 50}, {"K", 72}}},
        Example{"linear_gelu", "linear_gelu", {{"M", 40}, {"N", 48}, {"K", 72}}},
        Example{"linear_residual", "linear_residual", {{"M", 40}, {"N", 48}, {"K", 72}}},
        Example{"linear_stats", "linear_stats", {{"M", 128}, {"N", 192}, {"K", 72}}},
        Example{"logsumexp", "row_logsumexp", {{"M", 5}, {"N", 70}}}, Example{"matmul_i8", "matmul_i8", {{"M", 40}, {"N", 50}, {"K", 72}}},
        Example{"matmul_i8", "matmul_i8_nn", {{"M", 40}, {"N", 48}, {"K", 72}}},
        Example{"matmul_i8", "linear_w8", {{"M", 40}, {"N", 50}, {"K", 72}}},
        Example{"matmul_tf32", "matmul_tf32", {{"M", 40}, {"N", 50}, {"K", 36}}},
        Example{"matmul_tf32", "linear_tf32", {{"M", 40}, {"N", 48}, {"K", 36}}},
        Example{"matmul_tf32", "matmul_tf32_tn", {{"M", 40}, {"N", 48}, {"K", 33}}}, Example{"rmsnorm", "rms_norm", {{"M", 5}, {"N", 70}}},
        Example{"row_sum", "row_sum", {{"M", 5}, {"N", 70}}}, Example{"saxpy", "saxpy", {{"N", 1234}}},
        Example{"softmax", "softmax_rows", {{"M", 5}, {"N", 1300}}}, Example{"transpose", "transpose", {{"M", 45}, {"N", 67}}},
        Example{"triangular", "triangular", {{"N", 150}, {"M", 70}}}),
    [](const testing::TestParamInfo<Example> &info) { return std::string(info.param.kernel); });

} // namespace
} // namespace kernelc::test

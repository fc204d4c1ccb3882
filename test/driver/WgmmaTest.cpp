// Products on sm_90a: tensor copies, channels, a warpgroup that fills and one or
// two that multiply. Sizes that fit the tiles, that do not, and that go round the
// ring several times.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

std::string product(const std::string &type, bool aByRows, bool bByRows) {
  return "def m(a: " + type + (aByRows ? "[M, K]" : "[K, M]") + ", b: " + type + (bByRows ? "[N, K]" : "[K, N]") + ") -> (c: " +
         type + "[M, N]) { c[i, j] = sum[k](" + (aByRows ? "a[i, k]" : "a[k, i]") + " * " + (bByRows ? "b[j, k]" : "b[k, j]") + ") }";
}

Case on90(const std::string &text, std::map<std::string, int64_t> sizes, bool specialise = true, const std::string &schedule = "") {
  Case c{text, sizes, "", "sm_90a", specialise};
  c.schedule = schedule;
  return c;
}

TEST(Wgmma, EveryTransposition) {
  for (const char *type : {"bf16", "f16"})
    for (bool a : {true, false})
      for (bool b : {true, false})
        for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 256, 64}, {136, 264, 72}, {200, 104, 600}})
          EXPECT_EQ(runCase(on90(product(type, a, b), {{"M", m}, {"N", n}, {"K", k}})), "")
              << product(type, a, b) << " " << m << "x" << n << "x" << k;
}

TEST(Wgmma, AnySizesInOneVariant) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 8, 8}, {300, 8, 520}, {129, 512, 0}})
    EXPECT_EQ(runCase(on90(product("bf16", true, true), {{"M", m}, {"N", n}, {"K", k}}, false)), "") << m << "x" << n << "x" << k;
}

TEST(Wgmma, RowsThatAreNoMultipleOf16BytesTakeAnotherWay) {
  EXPECT_EQ(runCase(on90(product("bf16", true, true), {{"M", 130}, {"N", 70}, {"K", 67}})), "");
}

TEST(Wgmma, SmallTilesHaveOneWarpgroup) {
  EXPECT_EQ(runCase(on90(product("bf16", true, false), {{"M", 64}, {"N", 64}, {"K", 256}})), "");
  EXPECT_EQ(runCase(on90(product("bf16", false, false), {{"M", 64}, {"N", 32}, {"K", 32}})), "");
}

TEST(Wgmma, FewRowsBecomeColumns) {
  for (int64_t m : {1, 16, 40})
    for (bool b : {true, false})
      EXPECT_EQ(runCase(on90(product("bf16", true, b), {{"M", m}, {"N", 200}, {"K", 136}})), "") << m << b;
}

TEST(Wgmma, FewResultsOfLongSums) {
  for (const char *target : {"sm_90a", "sm_80"})
    EXPECT_EQ(runCase({.text = product("bf16", true, false), .sizes = {{"M", 72}, {"N", 64}, {"K", 4096}}, .target = target}), "") << target;
}

TEST(Wgmma, Batched) {
  const char *text = "def m(a: bf16[B, M, K], b: bf16[B, K, N]) -> (c: bf16[B, M, N]) { c[n, i, j] = sum[k](a[n, i, k] * b[n, k, j]) }";
  EXPECT_EQ(runCase(on90(text, {{"B", 3}, {"M", 136}, {"N", 72}, {"K", 200}})), "");
}

TEST(Wgmma, EpilogueReductionAndSeveralOutputs) {
  const char *text = R"(def m(a: bf16[M, K], b: bf16[N, K], bias: f32[N]) -> (c: bf16[M, N], r: f32[M, N]) {
  let t[i, j] = sum[k](a[i, k] * b[j, k]) + bias[j]
  c[i, j] = max(t[i, j], 0)
  r[i, j] = t[i, j]
})";
  EXPECT_EQ(runCase(on90(text, {{"M", 136}, {"N", 136}, {"K", 72}})), "");
}

TEST(Wgmma, Convolution) {
  const char *text = R"(def conv(x: f16[N, H, W, C], f: f16[R, S, C, O]) -> (y: f16[N, H, W, O]) {
  y[n, h, w, o] = sum[r, s, c](x.pad(0)[n, h + r - R // 2, w + s - S // 2, c] * f[r, s, c, o])
})";
  EXPECT_EQ(runCase(on90(text, {{"N", 2}, {"H", 9}, {"W", 16}, {"C", 72}, {"R", 3}, {"S", 3}, {"O", 64}})), "");
}

// Several tiles a block, an odd number of them along the clustered rows, and a ring
// that is handed from tile to tile.
TEST(Wgmma, ClustersWalkSeveralTiles) {
  for (bool a : {true, false})
    for (bool b : {true, false})
      EXPECT_EQ(runCase(on90(product("bf16", a, b), {{"M", 904}, {"N", 520}, {"K", 136}}, true,
                            R"([{"kernel": "m", "launch": "c", "cluster": 2}])")), "") << a << b;
}

// A reduced index that ends before the tensor does: what lies behind must not count.
TEST(Wgmma, ReadsPartOfATensor) {
  const char *text = R"(def m(a: bf16[M, P], b: bf16[N, K]) -> (c: bf16[M, N]) {
  require P >= K + 8
  c[i, j] = sum[k](a[i, k + 8] * b[j, k])
})";
  EXPECT_EQ(runCase(on90(text, {{"M", 128}, {"N", 64}, {"K", 72}, {"P", 104}})), "");
}

} // namespace
} // namespace kernelc::test

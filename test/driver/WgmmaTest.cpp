// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products on sm_90a: tensor copies, channels, a warpgroup that fills and one or
// two that multiply. Sizes that fit the tiles, that do not, and that go round the
// ring several times.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

std::string product(const std::string &type, bool aByRows, bool bByRows) {
  return "def m(a: " + type + (aByRows ? "[M, K]" : "[K, M]") + ", b: " + type + (bByRows ? "[N, K]" : "[K, N]") + ") -> (c: " + type +
         "[M, N]) { c[i, j] = sum[k](" + (aByRows ? "a[i, k]" : "a[k, i]") + " * " + (bByRows ? "b[j, k]" : "b[k, j]") + ") }";
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

// Types that the unit takes contiguous along K only.
TEST(Wgmma, EightAndThirtyTwoBits) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 256, 128}, {136, 264, 144}, {200, 104, 720}}) {
    std::map<std::string, int64_t> sizes{{"M", m}, {"N", n}, {"K", k}};
    for (const char *type : {"i8", "u8"}) {
      std::string text = product(type, true, true);
      text.replace(text.find("c: ") + 3, 2, "i32");
      Case c = on90(text, sizes);
      c.expect = type[0] == 'i' ? "kc_wgmma_s8<" : "kc_wgmma_u8<";
      EXPECT_EQ(runCase(c), "") << text << " " << m << "x" << n << "x" << k;
    }
    Case c = on90(product("f32", true, true), sizes);
    c.precision = "contract=tf32";
    c.expect = "kc_wgmma_tf32<";
    EXPECT_EQ(runCase(c), "") << m << "x" << n << "x" << k;
  }
}

// Contiguous along rows or columns: another unit where a transposing copy would not pay.
TEST(Wgmma, OtherLayoutsOfEightAndThirtyTwoBits) {
  std::map<std::string, int64_t> sizes{{"M", 72}, {"N", 80}, {"K", 96}};
  for (bool a : {true, false}) {
    std::string text = product("i8", a, !a);
    text.replace(text.find("c: ") + 3, 2, "i32");
    EXPECT_EQ(runCase(on90(text, sizes)), "");
  }
  Case both = on90(product("f32", false, false), sizes);
  both.precision = "contract=tf32";
  EXPECT_EQ(runCase(both), "");
}

// One operand of words that runs along rows or columns passes through registers, rounded by the copy.
TEST(Wgmma, OneOperandAcrossThroughRegisters) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 256, 128}, {136, 264, 144}, {200, 104, 720}, {16, 72, 40}})
    for (bool a : {true, false}) {
      Case c = on90(product("f32", a, !a), {{"M", m}, {"N", n}, {"K", k}});
      c.precision = "contract=tf32";
      c.expect = "kc_wgmma_rs_tf32<";
      EXPECT_EQ(runCase(c), "") << m << "x" << n << "x" << k << (a ? " nn" : " tt");
    }
}

// Both run across: one is copied, the other passes through registers.
TEST(Wgmma, TwoOperandsAcross) {
  Case c = on90(product("f32", false, false), {{"M", 136}, {"N", 264}, {"K", 144}}, true, R"([{"kernel": "m", "copies": "always"}])");
  c.precision = "contract=tf32";
  c.expect = "kc_wgmma_rs_tf32<";
  EXPECT_EQ(runCase(c), "");
}

// Rows that tensor copies cannot fetch, and a product long enough for an aligned copy.
TEST(Wgmma, LongProductsReadAlignedCopies) {
  std::string text = cudaTextOf(on90(product("bf16", true, false), {{"M", 1304}, {"N", 1303}, {"K", 1307}}));
  for (const char *wanted : {"kc_m_b_rows_a_rows(", "kc_wgmma_bf16<"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  text = cudaTextOf(on90(product("bf16", true, false), {{"M", 1304}, {"N", 1303}, {"K", 2048}}));
  EXPECT_EQ(text.find("a_rows("), std::string::npos);
  EXPECT_NE(text.find("kc_m_b_rows("), std::string::npos);
}

// Computed operands of long products are written down in the unit's type first.
TEST(Wgmma, LongProductsOfComputedOperands) {
  std::map<std::string, int64_t> sizes{{"M", 1408}, {"N", 1280}, {"K", 1344}};
  Case c = on90(product("f32", true, false), sizes);
  c.precision = "contract=bf16x3";
  std::string text = cudaTextOf(c);
  for (const char *wanted : {"kc_m_a_rows(", "kc_m_b_rows(", "kc_wgmma_bf16<"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  c.precision = "contract=tf32x3";
  text = cudaTextOf(c);
  for (const char *wanted : {"kc_m_a_rows(", "kc_m_b_rows(", "kc_wgmma_tf32<"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  const char *weights =
      "def w(x: bf16[M, K], w: i8[N, K], s: f32[N]) -> (y: bf16[M, N]) { y[i, j] = s[j] * sum[k](x[i, k] * f32(w[j, k])) }";
  text = cudaTextOf(on90(weights, sizes));
  EXPECT_NE(text.find("kc_w_w_rows("), std::string::npos);
  EXPECT_EQ(text.find("x_rows("), std::string::npos);
  EXPECT_NE(text.find("kc_wgmma_bf16<"), std::string::npos);
}

// One operand from registers: computed from what tensor copies bring, whichever side it stands on,
// along either of its indices. Results of the second operand's rows leave transposed.
TEST(Wgmma, ComputedOperands) {
  const char *texts[] = {
      "def m(x: bf16[M, K], w: i8[N, K]) -> (y: bf16[M, N]) { y[i, j] = sum[k](x[i, k] * bf16(f32(w[j, k]))) }",
      "def m(x: i8[M, K], w: f16[K, N]) -> (y: f32[M, N]) { y[i, j] = sum[k](f16(f32(x[i, k])) * w[k, j]) }",
      "def m(x: bf16[M, K], w: f8e4m3[N, K], s: f32[N, K // 64]) -> (y: bf16[M, N]) {\n  require K % 64 == 0\n"
      "  y[i, j] = sum[k](x[i, k] * bf16(w[j, k] * s[j, k // 64]))\n}",
      "def m(x: bf16[M, K], w: bf16[K, N], g: bf16[M, K]) -> (y: bf16[M, N]) { y[i, j] = sum[k](bf16(relu(x[i, k]) * g[i, k]) * w[k, j]) }",
  };
  for (const char *text : texts)
    for (const char *schedule : {"", R"([{"kernel": "m", "launch": "y", "cluster": 2, "stages": 3}])"})
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{128, 256, 64}, {328, 264, 192}, {24, 520, 320}}) {
        Case c = on90(text, {{"M", m}, {"N", n}, {"K", k}}, true, schedule);
        c.expect = "kc_wgmma_rs_";
        EXPECT_EQ(runCase(c), "") << text << schedule << " " << m << "x" << n << "x" << k;
      }
}

// Masked in the slots, where a tile is not wholly inside; both of them, and by an index that only the condition gives an
// operand. Tiles of which no point counts.
TEST(Wgmma, MaskedOperands) {
  for (const char *where :
       {"k <= i", "k > i", "i - 40 <= k and k <= i + 9", "k == i", "k <= i and k >= j", "k // 96 == i // 96", "k + 200 <= i"})
    for (const char *access : {"a[i, k] * b[k, j]", "a[k, i] * b[j, k]"}) {
      std::string text = std::string("def m(a: bf16[N, N], b: bf16[") + (access[2] == 'i' ? "N, M" : "M, N") +
                         "]) -> (y: bf16[N, M]) { y[i, j] = sum[k](" + access + " if " + where + " else 0) }";
      Case c = on90(text, {{"M", 136}, {"N", 392}});
      c.expect = "kc_wgmma_bf16<";
      EXPECT_EQ(runCase(c), "") << text;
    }
  const char *grouped = "def m(x: bf16[M, K], w: bf16[G, N, K]) -> (y: f32[M, N]) {\n"
                        "  y[i, j] = sum[g, k, 48 * g <= i < 48 * g + 48](x[i, k] * w[g, j, k])\n}";
  for (int64_t groups : {2, 6})
    EXPECT_EQ(runCase(on90(grouped, {{"M", 200}, {"N", 72}, {"K", 72}, {"G", groups}})), "") << groups;
  const char *mixed = "def m(x: bf16[M, K], w: i8[N, K]) -> (y: bf16[M, N]) {\n"
                      "  y[i, j] = sum[k, k >= j](x[i, k] * bf16(f32(w[j, k])) if k <= i else 0)\n}";
  EXPECT_EQ(runCase(on90(mixed, {{"M", 136}, {"N", 72}, {"K", 192}})), "");
}

TEST(Wgmma, AnySizesInOneVariant) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 8, 8}, {300, 8, 520}, {129, 512, 0}})
    EXPECT_EQ(runCase(on90(product("bf16", true, true), {{"M", m}, {"N", n}, {"K", k}}, false)), "") << m << "x" << n << "x" << k;
}

TEST(Wgmma, RowsThatAreNoMultipleOf16BytesTakeAnotherWay) {
  EXPECT_EQ(runCase(on90(product("bf16", true, true), {{"M", 130}, {"N", 70}, {"K", 67}})), "");
}

// Columns that are no power of two: by 8 where they run across memory, by 16 where along it, in panels and parts that come
// out even.
TEST(Wgmma, ColumnsByEight) {
  for (auto [columns, byRows] : {std::pair<int64_t, bool>{24, true}, {40, true}, {88, true}, {48, true}, {48, false}, {80, false}})
    for (const char *fields : {"", R"(, "part": 128)", R"(, "part": 16, "cluster": 2)", R"(, "producer_warps": 0, "cluster": 1)"})
      EXPECT_EQ(runCase(on90(product("bf16", true, byRows), {{"M", 136}, {"N", 200}, {"K", 72}}, true,
                             R"([{"kernel": "m", "launch": "c", "unit": "wgmma", "warps": 4, "stages": 3, "tiles": {"i": 64, "j": )" +
                                 std::to_string(columns) + "}" + fields + "}]")),
                "")
          << columns << fields;
}

// Without warps that fill, the threads that multiply fill the slots: with cp.async, or from registers (odd rows, bytes and
// words that run along rows or columns). Sums of one tile, where nothing but the barrier stands between.
TEST(Wgmma, ThreadsFillSlotsThemselves) {
  for (const char *fields : {"", R"(, "persistent": true, "stages": 2, "fill_late": true)"})
    for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{130, 72, 96}, {65, 67, 77}, {128, 136, 512}}) {
      std::string schedule =
          std::string(
              R"([{"kernel": "m", "copies": "never", "parts": 1}, {"kernel": "m", "launch": "c", "unit": "wgmma", "warps": 4, "producer_warps": 0, "cluster": 1)") +
          fields + "}]";
      auto on = [&](const std::string &text, bool specialise) {
        Case c = on90(text, {{"M", m}, {"N", n}, {"K", k}}, specialise, schedule);
        c.expect = "kc_wgmma_";
        return c;
      };
      for (bool a : {true, false})
        for (bool b : {true, false}) {
          EXPECT_EQ(runCase(on(product("bf16", a, b), true)), "") << a << b << m << fields;
          EXPECT_EQ(runCase(on(product("f8e4m3", a, b), true)), "") << a << b << m << fields;
          Case c = on(product("f32", a, b), true);
          c.precision = "contract=tf32";
          EXPECT_EQ(runCase(c), "") << a << b << m << fields;
        }
      EXPECT_EQ(runCase(on(product("bf16", true, true), false)), "") << m << fields;
    }
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
    EXPECT_EQ(runCase({.text = product("bf16", true, false), .sizes = {{"M", 72}, {"N", 64}, {"K", 4096}}, .target = target}), "")
        << target;
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

// What an epilogue reads comes by tensor copies, while the product runs: several tiles a block, rows and
// columns that stick out, two tensors at once, types of other widths.
TEST(Wgmma, EpiloguesReadSlots) {
  const char *text = R"(def m(a: bf16[M, K], b: bf16[N, K], r: bf16[M, N], g: f32[M, N]) -> (c: bf16[M, N]) {
  let t[i, j] = sum[k](a[i, k] * b[j, k])
  c[i, j] = t[i, j] * g[i, j] + r[i, j]
})";
  Case c = on90(text, {{"M", 392}, {"N", 520}, {"K", 72}});
  c.expect = "kc_ldmatrix_x4((unsigned *)";
  EXPECT_EQ(runCase(c), "");
  for (const char *schedule :
       {R"([{"kernel": "m", "launch": "c", "cluster": 2, "stages": 2, "part": 32}])",
        R"([{"kernel": "m", "launch": "c", "persistent": false, "tiles": {"i": 64, "j": 64}, "warps": 4, "part": 16}])"}) {
    c.schedule = schedule;
    EXPECT_EQ(runCase(c), "") << schedule;
  }
}

// The same of what reductions of results read, whole or in parts.
TEST(Wgmma, ReductionsOfEpiloguesReadSlots) {
  for (const char *results : {"-> (m: f32[M]) { m[i] = max[j](sum[k](a[i, k] * b[j, k]) + r[i, j]) }",
                              "-> (m: f32[N]) { m[j] = max[i](sum[k](a[i, k] * b[j, k]) * r[i, j]) }",
                              "-> (y: bf16[N, M], m: f32[M]) {\n  let p[i, j] = sum[k](a[i, k] * b[j, k]) + r[i, j]\n"
                              "  y[j, i] = p[i, j]\n  m[i] = max[j](p[i, j])\n}"})
    EXPECT_EQ(
        runCase(on90(std::string("def m(a: bf16[M, K], b: bf16[N, K], r: bf16[M, N]) ") + results, {{"M", 130}, {"N", 136}, {"K", 72}})),
        "")
        << results;
}

// Two warpgroups that share columns, not rows, have no registers of each part: what is reduced over columns stays whole.
TEST(Wgmma, ReductionsOfColumnsThatWarpgroupsShare) {
  for (const char *results : {"-> (y: f32[M], c: bf16[M, N]) {\n  let p[i, j] = sum[k](a[i, k] * b[j, k])\n"
                              "  y[i] = sum[j](relu(p[i, j]))\n  c[i, j] = p[i, j]\n}",
                              "-> (y: f32[M, N], c: f32[N]) {\n  let p[i, j] = sum[k](a[i, k] * b[j, k]) + r[i, j]\n"
                              "  y[i, j] = softmax[j](p[i, j])\n  c[j] = max[i](p[i, j])\n}"})
    EXPECT_EQ(
        runCase(on90(std::string("def m(a: bf16[M, K], b: bf16[N, K], r: bf16[M, N]) ") + results, {{"M", 40}, {"N", 72}, {"K", 72}})), "")
        << results;
}

TEST(Wgmma, Convolution) {
  const char *text = R"(def conv(x: f16[N, H, W, C], f: f16[R, S, C, O]) -> (y: f16[N, H, W, O]) {
  y[n, h, w, o] = sum[r, s, c](x.pad(0)[n, h + r - R // 2, w + s - S // 2, c] * f[r, s, c, o])
})";
  EXPECT_EQ(runCase(on90(text, {{"N", 2}, {"H", 9}, {"W", 16}, {"C", 72}, {"R", 3}, {"S", 3}, {"O", 64}})), "");
}

// Every second or third element of a row: tensor copies with steps, before and behind the border too.
TEST(Wgmma, StridedAndDilatedConvolutions) {
  for (auto [stride, dilation] : {std::pair<int, int>{2, 1}, {3, 1}, {2, 2}}) {
    std::string s = std::to_string(stride), d = std::to_string(dilation);
    Case c = on90("def conv(x: bf16[N, H, W, C], f: bf16[O, 3, 3, C]) -> (y: bf16[N, (H - 1) // " + s + " + 1, (W - 1) // " + s +
                      " + 1, O]) {\n" + "  y[n, h, w, o] = sum[r, s, c](x.pad(0)[n, h * " + s + " + r * " + d + " - 1, w * " + s +
                      " + s * " + d + " - 1, c] * f[o, r, s, c])\n}",
                  {{"N", 2}, {"H", 15}, {"W", 33}, {"C", 72}, {"O", 64}});
    c.expect = "kc_wgmma_bf16<";
    EXPECT_EQ(runCase(c), "") << stride << dilation;
  }
}

// Several tiles a block, an odd number of them along the clustered rows, and a ring
// that is handed from tile to tile.
TEST(Wgmma, ClustersWalkSeveralTiles) {
  for (bool a : {true, false})
    for (bool b : {true, false})
      EXPECT_EQ(runCase(on90(product("bf16", a, b), {{"M", 904}, {"N", 520}, {"K", 136}}, true,
                             R"([{"kernel": "m", "launch": "c", "cluster": 2}])")),
                "")
          << a << b;
}

// Rows in digits: blocks walk the one that has several tiles, where a tile has all of the other for what is reduced over
// it; and what sticks out of the last tile of a digit is the next one's.
TEST(Wgmma, ClustersOfRowsInDigits) {
  const char *columns = R"(def m(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N], q: f32[N]) {
  let a[i, j] = sum[k](x[i, k] * w[j, k])
  y[i, j] = a[i, j]
  q[j] = sum[i](a[i, j] ** 2)
})";
  for (auto [m, cluster] : {std::pair<int64_t, int>{128, 2}, {256, 4}, {192, 2}, {200, 2}, {330, 2}})
    EXPECT_EQ(runCase(on90(columns, {{"M", m}, {"N", 136}, {"K", 72}}, true,
                           R"([{"kernel": "m", "launch": "y", "cluster": )" + std::to_string(cluster) + "}]")),
              "")
        << m << " by " << cluster;
  const char *scaled = R"(def m(x: bf16[M, K], w: bf16[N, K], s: f32[M // 192, K]) -> (y: bf16[M, N]) {
  require M % 192 == 0
  y[i, j] = sum[k](bf16(x[i, k] * s[i // 192, k]) * w[j, k])
})";
  EXPECT_EQ(runCase(on90(scaled, {{"M", 576}, {"N", 64}, {"K", 64}}, true, R"([{"kernel": "m", "launch": "y", "cluster": 2}])")), "");
}

// More blocks in a cluster than the emulator has multiprocessors: still one cluster, which walks all tiles.
TEST(Wgmma, ClustersOfMoreBlocksThanMultiprocessors) {
  for (int cluster : {4, 8})
    EXPECT_EQ(runCase(on90(product("bf16", true, true), {{"M", 1000}, {"N", 520}, {"K", 192}}, true,
                           R"([{"kernel": "m", "launch": "c", "cluster": )" + std::to_string(cluster) + R"(, "persistent": true}])")),
              "")
        << cluster;
}

// Three panels of 64 columns do not halve; their rows do.
TEST(Wgmma, ClustersShareAnOddNumberOfPanels) {
  for (bool a : {true, false}) {
    Case c = on90(product("bf16", a, false), {{"M", 264}, {"N", 392}, {"K", 136}}, true,
                  R"([{"kernel": "m", "launch": "c", "cluster": 2, "tiles": {"i": 128, "j": 192}, "stages": 3}])");
    c.expect = "kc_tma_load_multicast_2d(&b_slots[";
    EXPECT_EQ(runCase(c), "") << a;
  }
}

// Teams that take a block's tiles in turns share the rings of the product and of what epilogues read; tiles whose
// columns are no power of two; parts that do not come out even.
TEST(Wgmma, TeamsTakeTurns) {
  const char *text = R"(def m(a: bf16[M, K], b: bf16[N, K], r: bf16[M, N]) -> (c: bf16[M, N]) {
  let t[i, j] = sum[k](a[i, k] * b[j, k])
  c[i, j] = t[i, j] + r[i, j]
})";
  for (const char *schedule :
       {R"([{"kernel": "m", "launch": "c", "pingpong": 2, "warps": 4, "tiles": {"i": 128, "j": 128}, "stages": 4, "part": 32}])",
        R"([{"kernel": "m", "launch": "c", "pingpong": 3, "warps": 4, "tiles": {"i": 64, "j": 64}, "stages": 3}])",
        R"([{"kernel": "m", "launch": "c", "pingpong": 2, "warps": 8, "tiles": {"i": 128, "j": 64}, "stages": 3, "cluster": 2}])",
        R"([{"kernel": "m", "launch": "c", "pingpong": 2, "warps": 4, "tiles": {"i": 64, "j": 192}, "stages": 2, "part": 64}])",
        R"([{"kernel": "m", "launch": "c", "tiles": {"i": 128, "j": 176}, "stages": 3, "part": 16, "persistent": false}])",
        R"([{"kernel": "m", "launch": "c", "tiles": {"i": 128, "j": 160}, "stages": 3}])"})
    EXPECT_EQ(runCase(on90(text, {{"M", 648}, {"N", 520}, {"K", 200}}, true, schedule)), "") << schedule;
}

// A reduced index that ends before the tensor does: what lies behind must not count.
TEST(Wgmma, ReadsPartOfATensor) {
  const char *text = R"(def m(a: bf16[M, P], b: bf16[N, K]) -> (c: bf16[M, N]) {
  require P >= K + 8
  c[i, j] = sum[k](a[i, k + 8] * b[j, k])
})";
  EXPECT_EQ(runCase(on90(text, {{"M", 128}, {"N", 64}, {"K", 72}, {"P", 104}})), "");
}

// Boxes that would start inside 16 bytes of a row take another way.
TEST(Wgmma, OddOffsetsAlongRows) {
  const char *text = R"(def m(a: bf16[M, P], b: bf16[N, K]) -> (c: bf16[M, N]) {
  require P >= K + 3
  c[i, j] = sum[k](a[i, k + 3] * b[j, k])
})";
  Case c = on90(text, {{"M", 128}, {"N", 64}, {"K", 72}, {"P", 104}});
  EXPECT_EQ(runCase(c), "");
  EXPECT_EQ(cudaTextOf(c).find("kc_wgmma"), std::string::npos);
}

} // namespace
} // namespace kernelc::test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grouped products: rows that belong to groups whose bounds are data, and other conditions that bound
// points of a product by data.
#include "EndToEnd.h"

#include <limits>

#include <gmock/gmock.h>

namespace kernelc::test {
namespace {

using testing::HasSubstr;

std::string grouped(const char *type = "bf16", bool transposed = false, const char *rest = "", const char *offsets = "i32") {
  std::string t = type;
  return "def m(x: " + t + "[M, K], w: " + t + (transposed ? "[G, N, K]" : "[G, K, N]") + ", off: " + offsets +
         "[G + 1]) -> (y: " + (t == "i8" ? "i32" : "f32") + "[M, N]) {" + rest + " y[i, n] = sum[k](x[i, k] * " +
         (transposed ? "w[g, n, k]" : "w[g, k, n]") + ") where off[g] <= i < off[g + 1] }";
}

Case on(const std::string &text, int64_t m, int64_t n, int64_t k, std::vector<int64_t> off, const std::string &target,
        const std::string &expect = "kc_find_where") {
  Case c{text, {{"M", m}, {"N", n}, {"K", k}, {"G", int64_t(off.size()) - 1}}, "", target};
  c.expect = expect;
  c.values["off"] = off;
  return c;
}

const char *kTargets[] = {"sm_90a", "sm_80"};

// Empty groups, bounds within tiles and at their borders, both layouts of the weights.
TEST(Grouped, Sizes) {
  for (const char *target : kTargets)
    for (bool transposed : {false, true}) {
      EXPECT_EQ(runCase(on(grouped("bf16", transposed), 300, 136, 136, {0, 0, 70, 128, 128, 256, 300, 300}, target)), "")
          << target << transposed;
      EXPECT_EQ(runCase(on(grouped("bf16", transposed), 128, 64, 64, {0, 128}, target)), "") << target << transposed;
    }
}

// Rows in no group are zero; groups that overlap add up; bounds outside of x, and the wrong way round.
TEST(Grouped, AnyBounds) {
  for (const char *target : kTargets)
    for (std::vector<int64_t> off : {std::vector<int64_t>{5, 40, 90}, {100, 20, 130, 60}, {-7, 30, 1000}, {200, 300}, {50, 50, 50}})
      EXPECT_EQ(runCase(on(grouped(), 150, 72, 72, off, target)), "") << target << off[0];
}

// Bounds that have no neighbours among the numbers.
TEST(Grouped, ExtremeBounds) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  for (const char *target : kTargets) {
    EXPECT_EQ(runCase(on(grouped("bf16", true, "", "i64"), 150, 72, 72, {kLeast, 20, kLeast, kMost, kLeast}, target)), "") << target;
    const char *strict = "def m(x: bf16[M, K], w: bf16[G, N, K], off: i64[G + 1]) -> (y: f32[M, N]) {\n"
                         "  y[i, n] = sum[g, k, off[g] < i < off[g + 1]](x[i, k] * w[g, n, k]) }";
    EXPECT_EQ(runCase(on(strict, 150, 72, 72, {kMost, 100, kLeast, kMost, kMost}, target)), "") << target;
  }
}

TEST(Grouped, RaggedExtents) {
  for (const char *target : kTargets) {
    EXPECT_EQ(runCase(on(grouped(), 1, 72, 72, {0, 0, 1, 1}, target, "")), "") << target;
    EXPECT_EQ(runCase(on(grouped("f16", true), 77, 67, 45, {0, 10, 77}, target)), "") << target;
    EXPECT_EQ(runCase(on(grouped("f32"), 70, 33, 45, {0, 10, 61}, target)), "") << target;
    EXPECT_EQ(runCase(on(grouped(), 0, 72, 72, {0, 0}, target, "")), "") << target;
    EXPECT_EQ(runCase(on(grouped(), 40, 72, 0, {0, 40}, target, "")), "") << target;
    Case general = on(grouped(), 90, 72, 72, {0, 30, 30, 90}, target);
    general.specialise = false;
    EXPECT_EQ(runCase(general), "") << target;
    general.general = true;
    EXPECT_EQ(runCase(general), "") << target;
  }
}

// Types of operands: what arrives as it is masked in its slot; what is computed, in registers.
TEST(Grouped, Types) {
  std::vector<int64_t> off{0, 30, 30, 101, 150};
  EXPECT_EQ(runCase(on(grouped("f8e4m3", true), 150, 72, 144, off, "sm_90a", "kc_wgmma_e4m3")), "");
  EXPECT_EQ(runCase(on(grouped("i8", true), 150, 72, 144, off, "sm_90a")), "");
  Case tf32 = on(grouped("f32", true), 150, 72, 72, off, "sm_90a", "kc_wgmma_tf32");
  tf32.precision = "contract=tf32";
  EXPECT_EQ(runCase(tf32), "");
  for (const char *target : kTargets) {
    const char *dequantized = "def m(x: bf16[M, K], w: i8[G, N, K], s: bf16[G], off: i64[G + 1]) -> (y: bf16[M, N]) {\n"
                              "  y[i, n] = sum[k](x[i, k] * (bf16(w[g, n, k]) * s[g])) where off[g] <= i < off[g + 1] }";
    EXPECT_EQ(runCase(on(dequantized, 150, 72, 144, off, target)), "") << target;
  }
}

// With what stands around a product, as a let.
TEST(Grouped, Epilogue) {
  const char *text =
      "def m(x: bf16[M, K], w: bf16[G, N, K], b: bf16[N], r: bf16[M, N], off: i32[G + 1]) -> (y: bf16[M, N]) {\n"
      "  let a[i, n] = sum[k](x[i, k] * w[g, n, k]) where off[g] <= i < off[g + 1]\n  y[i, n] = relu(a[i, n] + b[n]) + r[i, n] }";
  for (const char *target : kTargets)
    EXPECT_EQ(runCase(on(text, 300, 136, 72, {0, 100, 100, 290}, target)), "") << target;
}

// Bounds of other indices: of the sum, of columns, per batch; of two indices at once; and not by a number.
TEST(Grouped, OtherBounds) {
  for (const char *target : kTargets) {
    std::map<std::string, int64_t> sizes{{"B", 3}, {"M", 72}, {"N", 80}, {"K", 200}};
    for (const char *condition : {"k < len[b]", "j < len[b]", "len[b] >= i", "k < len[b], i < len[b], j > len[b] + 3", "len[b] == i",
                                  "j - k <= len[b]", "k + 1 < len[b]"}) {
      Case c{std::string("def m(a: bf16[B, M, K], w: bf16[B, K, N], len: i32[B]) -> (c: f32[B, M, N]) { c[b, i, j] = sum[k, ") + condition +
                 "](a[b, i, k] * w[b, k, j]) }",
             sizes, "", target};
      c.values["len"] = {0, 70, 33};
      EXPECT_EQ(runCase(c), "") << condition << target;
    }
  }
}

TEST(Grouped, Schedules) {
  for (const char *fields :
       {R"("cluster": 2)", R"("persistent": false)", R"("pingpong": 2, "warps": 4, "stages": 4, "tiles": {"i": 64, "n": 64})",
        R"("warps": 4, "stages": 3, "tiles": {"i": 64, "n": 128})",
        R"("unit": "mma", "producer_warps": 0, "persistent": false, "warps": 4, "stages": 3, "tiles": {"k": 32})",
        R"("unit": "simt", "producer_warps": 0, "persistent": false, "warps": 4, "stages": 2, "tiles": {"k": 16})"}) {
    Case c = on(grouped("bf16", true), 400, 320, 136, {0, 37, 256, 256, 399}, "sm_90a");
    c.schedule = std::string(R"([{"kernel": "m", "launch": "y", )") + fields + "}]";
    bool refused = std::string(fields).find("cluster") == 1;
    std::string got = runCase(c);
    EXPECT_TRUE(refused ? got.find("the condition depends on 'i'") != std::string::npos : got.empty()) << fields << got;
  }
}

} // namespace
} // namespace kernelc::test

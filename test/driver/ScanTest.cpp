// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans on the emulator: rows and columns of every length, each direction and reduction, chunks, tables, layouts and schedules.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

const char *kRows = "def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k, k <= j](x[i, k]) }";
const char *kColumns = "def f(x: f32[N, M]) -> (y: f32[N, M]) { y[i, j] = sum[k, k > i](x[k, j]) }";

TEST(Scans, RowsAndColumnsOfEveryLength) {
  for (const char *text : {kRows, kColumns})
    for (int64_t n : {0, 1, 33, 1000, 4097, 9001})
      for (int64_t m : {1, 70})
        if (n * m < 100000)
          for (bool specialise : {true, false}) {
            Case c{text, {{"M", m}, {"N", n}}, "", "sm_90a"};
            c.specialise = specialise;
            EXPECT_EQ(runCase(c), "") << text << " " << m << " x " << n << (specialise ? "" : ", general");
          }
}

TEST(Scans, ChunksOfLongRowsAndColumns) {
  for (const char *text : {kRows, kColumns})
    for (int64_t n : {36864, 40001})
      EXPECT_EQ(runCase({text, {{"M", 2}, {"N", n}}, "", "sm_90a"}), "") << text << " " << n;
  EXPECT_EQ(runCase({"def f(x: i32[N]) -> (y: i32[N]) { y[i] = max[k, k >= i](x[k]) }", {{"N", 50000}}}), "");
  EXPECT_EQ(runCase({"def f(x: f32[M, N], b: f32[N]) -> (y: bf16[N, M]) { y[j, i] = sum[k, k <= j](x[i, k]) * b[j] }",
                     {{"M", 3}, {"N", 50000}},
                     "",
                     "sm_90a"}),
            "");
  EXPECT_EQ(runCase({"def f(x: f32[N]) -> (y: f32[N]) { y[i] = mean[k, k <= i](x[k]) }", {{"N", 40000}}}), "");
  EXPECT_EQ(runCase({"def f(x: f32[N], m: bool[N]) -> (y: bf16[N]) { y[i] = 2 * sum[k, k < i, m[k]](x[k]) }", {{"N", 50000}}}), "");
}

TEST(Scans, EveryReductionAndType) {
  for (const char *type : {"f32", "f64", "bf16", "i64", "u8"})
    for (const char *kind : {"sum", "max", "min"})
      for (const char *tie : {"k <= j", "k > j"}) {
        std::string t = type, text = "def f(x: " + t + "[M, N]) -> (y: " + t + "[M, N]) { y[i, j] = " + t + "(" + kind + "[k, " + tie +
                                     "](x[i, k])) }";
        EXPECT_EQ(runCase({text, {{"M", 2}, {"N", 150}}}), "") << text;
      }
  EXPECT_EQ(
      runCase({"def f(x: f32[N]) -> (y: bool[N], z: bool[N], p: i32[N]) { y[i] = any[k, k <= i](x[k] > 2) z[i] = all[k, k >= i](x[k] < 2)"
               " p[i] = xor[k, k < i](i32(x[k])) }",
               {{"N", 5000}}}),
      "");
}

TEST(Scans, SeveralMaskedMovedAndTables) {
  EXPECT_EQ(runCase({"def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[a, b, a <= i, b >= j](x[a, b]) }", {{"M", 37}, {"N", 300}}}),
            "");
  EXPECT_EQ(runCase({"def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = max[k, k <= j](x[i, k]) - min[k, k < j](x[i, k]) where j in 0:N }",
                     {{"M", 3}, {"N", 5000}}}),
            "");
  EXPECT_EQ(runCase({"def f(x: f32[M, N], m: bool[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k](x[i, k] if k <= j and m[i, k] else 0) }",
                     {{"M", 3}, {"N", 700}}}),
            "");
  EXPECT_EQ(runCase({"def f(x: f32[N]) -> (y: f32[N], z: f32[N]) { y[i] = sum[k, k <= i - 3](x[k]) z[i] = sum[k, k >= i + 2](x[k]) }",
                     {{"N", 5000}}}),
            "");
  EXPECT_EQ(runCase({"def f(x: f32[A, N, B]) -> (y: f32[A, N, B]) { y[a, i, b] = sum[k, k <= i](x[a, k, b]) }",
                     {{"A", 3}, {"N", 130}, {"B", 5}}}),
            "");
  EXPECT_EQ(runCase({"def f(x: f32[M, N], w: f32[L, N]) -> (y: f32[M, L, N]) { y[i, l, j] = sum[k, k <= j](x[i, k] * w[l, k]) }",
                     {{"M", 5}, {"L", 4}, {"N", 200}}}),
            "");
}

TEST(Scans, InPlace) {
  EXPECT_EQ(runCase({"def f(inout x: f32[M, N]) { x[i, j] = sum[k, k <= j](x[i, k]) }", {{"M", 3}, {"N", 9000}}}), "");
  EXPECT_EQ(runCase({"def f(inout x: f32[M, N]) { x[i, j] = x[i, j] + sum[k in 1:N, k <= j](x[i, k - 1]) }", {{"M", 3}, {"N", 9000}}}), "");
}

TEST(Scans, LayoutsAndSchedules) {
  for (const char *layout : {"rows", "step", "transposed", "reversed", "shifted"}) {
    Case c{kRows, {{"M", 5}, {"N", 700}}, "", "sm_90a"};
    c.layouts = {{"x", layout}};
    EXPECT_EQ(runCase(c), "") << layout;
  }
  for (const char *text : {kRows, "def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = max[k, k >= j](x[i, k]) }"})
    for (const char *fields : {R"("tiles": {"i": 2, "j": 64}, "warps": 4)", R"("tiles": {"j": 32}, "warps": 16)",
                               R"("tiles": {"i": 8, "j": 1024}, "warps": 2)", R"("tiles": {"j": 512}, "warps": 2, "persistent": true)",
                               R"("tiles": {"j": 64}, "peel": true)", R"("tiles": {"j": 64}, "clamp": 4)"}) {
      Case c{text, {{"M", 9}, {"N", 1500}}, "", "sm_90a"};
      c.schedule = std::string(R"([{"kernel": "f", "launch": "y", )") + fields + "}]";
      EXPECT_EQ(runCase(c), "") << text << " " << fields;
    }
}

} // namespace
} // namespace kernelc::test

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.cascade from te text to a checked result: the reference computes its formulas
// pass by pass, the kernel merges states that it rescales.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

/// A kernel of one f32 matrix x with the cascade `op` as its result %y.
std::string kernelOf(const std::string &op, const std::string &type) {
  std::string element = type == "i64" ? "i64" : "f32";
  return "te.kernel @k sizes [\"M\", \"N\"] args [\"x\"] : [\"f32\"] [affine_map<()[s0, s1] -> (s0, s1)>]\n"
         "    outs [\"y\"] : [\"" +
         type +
         "\"] [affine_map<()[s0, s1] -> (s0)>] {\n"
         "^bb0(%x: tensor<?x?xf32>):\n" +
         op + "  te.return %y : tensor<?x" + element + ">\n}\n";
}

// max and the sum of exponentials, in one pass; `where` restricts the domain.
std::string logSumExp(const std::string &where) {
  return kernelOf("%m, %y = te.cascade [\"max\", \"sum\"] [\"i\", \"j\"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> " + where +
                      R"( {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %d = arith.subf %v, %max : f32
    %e = math.exp %d : f32
    te.yield %v, %e : f32, f32
  } rescale {
  ^bb0(%max: f32, %sum: f32, %newmax: f32, %newsum: f32):
    %d = arith.subf %max, %newmax : f32
    %e = math.exp %d : f32
    %s = arith.mulf %sum, %e : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.cmpf oeq, %sum, %zero : f32
    %kept = arith.select %none, %sum, %s : f32
    te.yield %max, %kept : f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32):
    %l = math.log %sum : f32
    %r = arith.addf %max, %l : f32
    te.yield %max, %r : f32, f32
  } {name = "y"} : tensor<?xf32>, tensor<?xf32>
)",
                  "f32");
}

// A mean weighted by softmax: three components, the last two moved by the first.
std::string softMean() {
  return kernelOf(R"(%m, %l, %y = te.cascade ["max", "sum", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index, %max: f32, %sum: f32, %dot: f32):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %d = arith.subf %v, %max : f32
    %e = math.exp %d : f32
    %p = arith.mulf %e, %v : f32
    te.yield %v, %e, %p : f32, f32, f32
  } rescale {
  ^bb0(%max: f32, %sum: f32, %dot: f32, %newmax: f32, %newsum: f32, %newdot: f32):
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.cmpf oeq, %max, %low : f32
    %d = arith.subf %max, %newmax : f32
    %e = math.exp %d : f32
    %f = arith.select %none, %zero, %e : f32
    %s = arith.mulf %sum, %f : f32
    %t = arith.mulf %dot, %f : f32
    te.yield %max, %s, %t : f32, f32, f32
  } finalize {
  ^bb0(%i: index, %max: f32, %sum: f32, %dot: f32):
    %r = arith.divf %dot, %sum : f32
    te.yield %max, %sum, %r : f32, f32, f32
  } {name = "y"} : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
)",
                  "f32");
}

void expectRuns(const std::string &text, const Sizes &sizes) {
  EXPECT_EQ(runCase({.text = text, .sizes = sizes, .isMlir = true}), "") << text;
  EXPECT_EQ(runCase({.text = text, .sizes = sizes, .target = "sm_90a", .specialise = false, .isMlir = true}), "") << text << " general";
}

TEST(Cascade, LogSumExp) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 70}, {3, 1000}, {2, 9000}})
    expectRuns(logSumExp(""), {{"M", m}, {"N", n}});
}

// The first row has no point: -inf + log(0).
TEST(Cascade, Domain) {
  for (int64_t n : {70, 5000})
    expectRuns(logSumExp("where affine_set<(d0, d1)[s0, s1] : (d0 * 30 - d1 - 1 >= 0)>"), {{"M", 6}, {"N", n}});
}

TEST(Cascade, ThreeComponents) {
  for (int64_t n : {33, 4097})
    expectRuns(softMean(), {{"M", 3}, {"N", n}});
}

// Long rows and few of them: partial states in one launch, merged in another.
TEST(Cascade, Split) {
  Sizes sizes{{"M", 1}, {"N", int64_t(1) << 22}};
  EXPECT_EQ(runCase({.text = logSumExp(""), .sizes = sizes, .isMlir = true}), "");
  EXPECT_EQ(runCase({"def a(x: f32[M, N]) -> (y: i64[M]) { y[i] = argmax[j](x[i, j]) }", sizes}), "");
  EXPECT_EQ(runCase({"def a(x: i16[M, N]) -> (y: i64[M]) { y[i] = argmin[j](x[i, j]) }", sizes}), "");
}

// o[i, d], weighted by row i's exponentials, beside m[i] and l[i], which have no d.
std::string ownDims(const std::string &where) {
  return R"(te.kernel @k sizes ["M", "N", "D"] args ["x", "v"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s1, s2)>]
    outs ["y", "z"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>, %v: tensor<?x?xf32>):
  %m, %l, %o = te.cascade ["max", "sum", "sum"] ["i", "d", "j"] parallel 2 dims [[0], [0], [0, 1]] extents affine_map<()[s0, s1, s2] -> (s0, s2, s1)> )" +
         where + R"( {
  ^bb0(%i: index, %d: index, %j: index, %max: f32, %sum: f32, %out: f32):
    %s = te.read %x[%i, %j] : tensor<?x?xf32>
    %w = te.read %v[%j, %d] : tensor<?x?xf32>
    %a = arith.subf %s, %max : f32
    %e = math.exp %a : f32
    %p = arith.mulf %e, %w : f32
    te.yield %s, %e, %p : f32, f32, f32
  } rescale {
  ^bb0(%max: f32, %sum: f32, %out: f32, %newmax: f32, %newsum: f32, %newout: f32):
    %a = arith.subf %max, %newmax : f32
    %e = math.exp %a : f32
    %s = arith.mulf %sum, %e : f32
    %o = arith.mulf %out, %e : f32
    %zero = arith.constant 0.0 : f32
    %noSum = arith.cmpf oeq, %sum, %zero : f32
    %keptSum = arith.select %noSum, %sum, %s : f32
    %noOut = arith.cmpf oeq, %out, %zero : f32
    %keptOut = arith.select %noOut, %out, %o : f32
    te.yield %max, %keptSum, %keptOut : f32, f32, f32
  } finalize {
  ^bb0(%i: index, %d: index, %max: f32, %sum: f32, %out: f32):
    %log = math.log %sum : f32
    %z = arith.addf %max, %log : f32
    %y = arith.divf %out, %sum : f32
    te.yield %max, %z, %y : f32, f32, f32
  } {name = "y"} : tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>
  te.return %o, %l : tensor<?x?xf32>, tensor<?xf32>
}
)";
}

TEST(Cascade, DimsOfItsOwn) {
  for (int64_t n : {1, 70, 5000})
    expectRuns(ownDims(""), {{"M", 3}, {"N", n}, {"D", 40}});
  expectRuns(ownDims("where affine_set<(d0, d1, d2)[s0, s1, s2] : (d0 * 30 - d2 + 20 >= 0)>"), {{"M", 5}, {"N", 70}, {"D", 3}});
}

// Rows too long for a block's registers, each with something else in it: numbers, nothing but -inf, +inf, NaN, -inf for
// a while, and terms that a condition excludes.
const char *const kRows =
    "(-inf if i == 1 or i == 4 and j < 20000 else inf if i == 2 and j == 7 else nan if i == 3 and j == 32001 else x[i, j])";

void expectLong(const std::string &body, const std::string &output) {
  std::string text = "def a(x: f32[M, N]) -> (" + output + ") { " + body + " }";
  for (size_t at; (at = text.find("ROWS")) != std::string::npos;)
    text.replace(at, 4, kRows);
  for (const char *target : {"sm_80", "sm_90a"})
    EXPECT_EQ(runCase({.text = text, .sizes = {{"M", 6}, {"N", 33001}}, .target = target}), "") << text << " " << target;
}

TEST(Cascade, DerivedWithInfinities) {
  expectLong("y[i] = logsumexp[j](ROWS)", "y: f32[M]");
  expectLong("y[i, j] = softmax[j](ROWS)", "y: f32[M, N]");
  expectLong("y[i, j] = log_softmax[j](ROWS)", "y: f32[M, N]");
  expectLong("y[i] = logsumexp[j](x[i, j] if j < 9000 * i else -inf)", "y: f32[M]");
}

TEST(Cascade, DerivedEntropy) {
  expectLong("let m[i] = max[j](ROWS)\n  let l[i] = sum[j](exp(ROWS - m[i]))\n"
             "  y[i] = log(l[i]) - sum[j](exp(ROWS - m[i]) / l[i] * (ROWS - m[i]))",
             "y: f32[M]");
}

TEST(Cascade, DerivedMoments) {
  expectLong("y[i] = var[j](x[i, j] + 100)", "y: f32[M]");
  expectLong("y[i] = var[j](ROWS)", "y: f32[M]");
  expectLong("let m[i] = mean[j](x[i, j])\n  y[i] = sum[j]((x[i, j] - m[i]) ** 4)", "y: f32[M]");
  expectLong("y[i, j] = layernorm[j](x[i, j])", "y: f32[M, N]");
}

// Rows of a cluster's blocks, and parts of which the last is shorter.
TEST(Cascade, HeldAndSplit) {
  for (const char *body : {"softmax[j](x[i, j])", "layernorm[j](x[i, j])", "rmsnorm[j](x[i, j])"}) {
    std::string text = std::string("def a(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = ") + body + " }";
    for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 33001}, {2, 140000}, {1, 700001}})
      EXPECT_EQ(runCase({.text = text, .sizes = {{"M", m}, {"N", n}}, .target = "sm_90a"}), "") << text << " " << n;
  }
}

} // namespace
} // namespace kernelc::test

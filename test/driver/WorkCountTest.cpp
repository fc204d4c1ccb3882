// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts of work are the program's, however it is written. Expected numbers are counted here, point by point.
#include "driver/roofline/WorkCount.h"

#include <functional>
#include <random>

#include "driver/roofline/PointCount.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace kernelc {
namespace {

WorkCount workOf(const std::string &text, std::map<std::string, int64_t> byName, const char *precision = nullptr) {
  ProgramOptions options;
  if (precision)
    EXPECT_TRUE(addPrecision(options.precision, precision).ok());
  auto program = Program::create(text, options);
  EXPECT_TRUE(program.ok()) << program.status() << text;
  if (!program.ok())
    return {};
  const Kernel &kernel = (*program)->kernels()[0];
  std::vector<int64_t> sizes;
  for (const SizeRecipe &r : kernel.sizes)
    sizes.push_back(r.constant ? *r.constant : byName.at(r.name));
  auto work = countWork(**program, kernel, sizes);
  EXPECT_TRUE(work.ok()) << work.status();
  return work.ok() ? *work : WorkCount();
}

TEST(WorkCount, KnowsWhatMatrixUnitsCanDo) {
  const char *text = "def f(x: bf16[M, K], w: bf16[N, K], s: f32[M, K], t: f32[N, K]) -> (y: f32[M, N], z: f32[M, N]) {\n"
                     "  y[i, j] = sum[k](x[i, k] * w[j, k]) + 1.0\n"
                     "  z[i, j] = sum[k](s[i, k] * t[j, k])\n}\n";
  auto program = Program::create(text, {});
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<Kernel> kernels = (*program)->kernels();
  ASSERT_EQ(kernels[0].sizes.size(), 3u);
  auto work = countWork(**program, kernels[0], {4, 4, 4});
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->bytes, 2 * 16 * 2 + 4 * 16 * 4);
  EXPECT_EQ(work->matrixFlops, 2 * 64);
  EXPECT_EQ(work->flops, 2 * 64 + 16 + 2 * 64);
  EXPECT_EQ(work->tf32Flops, 0);
  ProgramOptions tf32;
  ASSERT_TRUE(addPrecision(tf32.precision, "contract=tf32").ok());
  program = Program::create(text, tf32);
  ASSERT_TRUE(program.ok()) << program.status();
  work = countWork(**program, (*program)->kernels()[0], {4, 4, 4});
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->matrixFlops, 2 * 64);
  EXPECT_EQ(work->tf32Flops, 2 * 64);
}

/// Spellings that mean the same, and what they have to do.
struct Row {
  const char *name;
  std::map<std::string, int64_t> sizes;
  int64_t flops, intOps;
  std::vector<std::string> texts;
};

/// Points of an index space of two or three extents.
int64_t pointsWhere(int64_t a, int64_t b, const std::function<bool(int64_t, int64_t)> &holds) {
  int64_t n = 0;
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      n += holds(i, j);
  return n;
}

std::vector<Row> rows() {
  std::vector<Row> rows;
  const int64_t m = 37, n = 29, k = 11;
  const std::map<std::string, int64_t> mnk = {{"M", m}, {"N", n}, {"K", k}};
  std::string header = "def f(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {\n";
  // leaky_relu: one product with the slope.
  rows.push_back({"inlined",
                  mnk,
                  m * n * (2 * k + 1),
                  0,
                  {header + "  y[i, j] = leaky_relu(sum[k](x[i, k] * w[j, k]))\n}",
                   header + "  let a[i, j] = sum[k](x[i, k] * w[j, k])\n  y[i, j] = leaky_relu(a[i, j])\n}"}});
  int64_t causal = pointsWhere(m, m, [](int64_t i, int64_t j) { return j <= i; });
  std::string square = "def f(x: f32[M, M], v: f32[M]) -> (y: f32[M]) {\n";
  rows.push_back(
      {"causal",
       {{"M", m}},
       2 * causal,
       0,
       {square + "  y[i] = sum[j, j <= i](x[i, j] * v[j])\n}", square + "  y[i] = sum[j in 0:i + 1](x[i, j] * v[j])\n}",
        square + "  y[i] = sum[j](x[i, j] * v[j] if j <= i else 0)\n}", square + "  y[i] = sum[j](0 if i < j else x[i, j] * v[j])\n}",
        square + "  y[i] = sum[j, not (j > i)](x[i, j] * v[j])\n}"}});
  int64_t offDiagonal = m * m - m;
  rows.push_back({"off the diagonal",
                  {{"M", m}},
                  2 * offDiagonal,
                  0,
                  {square + "  y[i] = sum[j, j != i](x[i, j] * v[j])\n}", square + "  y[i] = sum[j, j < i or j > i](x[i, j] * v[j])\n}",
                   square + "  y[i] = sum[j](0 if i == j else x[i, j] * v[j])\n}"}});
  int64_t band = pointsWhere(m, m, [](int64_t i, int64_t j) { return j >= i - 3 && j <= i + 2 && (i + j) % 3 == 1; });
  rows.push_back({"every third of a band",
                  {{"M", m}},
                  2 * band,
                  0,
                  {square + "  y[i] = sum[j, j >= i - 3, j <= i + 2, (i + j) % 3 == 1](x[i, j] * v[j])\n}",
                   square + "  y[i] = sum[j](x[i, j] * v[j] if i - j <= 3 and j - i <= 2 and (i + j + 2) % 3 == 0 else 0)\n}"}});
  // A transposed convolution of stride 2 in one dimension: of 3 taps 1 or 2 meet an element.
  int64_t taps = pointsWhere(2 * m, 3, [](int64_t i, int64_t r) { return (i + 1 - r + 2) % 2 == 0; });
  std::string strided = "def f(x: f32[N, K, M], w: f32[K, 5, 3]) -> (y: f32[N, 5, 2 * M]) {\n";
  rows.push_back({"transposed convolution",
                  mnk,
                  2 * n * k * 5 * taps,
                  0,
                  {strided + "  y[b, o, i] = sum[c, r, (i + 1 - r) % 2 == 0](x.pad(0)[b, c, (i + 1 - r) // 2] * w[c, o, r])\n}",
                   strided + "  y[b, o, i] = sum[r, c, (i + r) % 2 == 1](x.pad(0)[b, c, (i + 1 - r) // 2] * w[c, o, r])\n}"}});
  // What does not depend on an index is there once for all its values: gelu of x for every j.
  std::string scaled = "def f(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {\n";
  rows.push_back({"hoisted",
                  mnk,
                  2 * m * n * k + m * k,
                  0,
                  {scaled + "  y[i, j] = sum[k](exp(x[i, k]) * w[j, k])\n}",
                   scaled + "  let e[i, k] = exp(x[i, k])\n  y[i, j] = sum[k](e[i, k] * w[j, k])\n}",
                   scaled + "  let e[a, b] = exp(x[a, b])\n  y[p, q] = sum[t](w[q, t] * e[p, t])\n}"}});
  // Subtraction and exponential once a point, a sum, a maximum, and a division.
  std::string softmax = "def f(x: f32[M, N]) -> (y: f32[M, N]) {\n  let s[i] = max[j](x[i, j])\n";
  rows.push_back(
      {"softmax",
       mnk,
       m * n * (1 + 2 + 1 + 1),
       0,
       {softmax + "  let e[i, j] = exp(x[i, j] - s[i])\n  y[i, j] = e[i, j] / sum[k](e[i, k])\n}",
        softmax + "  y[i, j] = exp(x[i, j] - s[i]) / sum[k](exp(x[i, k] - s[i]))\n}",
        "def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = exp(x[i, j] - max[k](x[i, k])) / sum[k](exp(x[i, k] - max[t](x[i, t]))) }"}});
  std::string bytes = "def f(x: i8[M, K], w: i8[N, K]) -> (y: i32[M, N]) {\n";
  rows.push_back({"integers",
                  mnk,
                  0,
                  m * n * (2 * k + 1), // and one addition
                  {bytes + "  y[i, j] = sum[k](i32(x[i, k]) * i32(w[j, k])) + 1\n}",
                   bytes + "  let s[i, j] = sum[k](i32(x[i, k]) * i32(w[j, k]))\n  y[i, j] = 1 + s[i, j]\n}"}});
  return rows;
}

TEST(WorkCount, IsTheSameForAllSpellings) {
  for (const Row &row : rows())
    for (const std::string &text : row.texts) {
      WorkCount work = workOf(text, row.sizes);
      EXPECT_EQ(work.flops, row.flops) << row.name << "\n" << text;
      EXPECT_EQ(work.intOps, row.intOps) << row.name << "\n" << text;
      EXPECT_EQ(work.upperBound, "") << text;
    }
}

TEST(WorkCount, SaysWhereDataDecides) {
  for (const char *term : {"sum[j, n[i] > j](x[i, j])", "sum[j](x[i, j] if j < n[i] else 0)"}) {
    WorkCount work = workOf(std::string("def f(x: f32[M, N], n: i32[M]) -> (y: f32[M]) { y[i] = ") + term + " }", {{"M", 5}, {"N", 7}});
    EXPECT_EQ(work.flops, 35) << term;
    EXPECT_EQ(work.upperBound, "a condition depends on data") << term;
  }
}

TEST(WorkCount, IntegersOfEightBitsAreForMatrixUnits) {
  WorkCount work = workOf("def f(x: i8[M, K], w: u8[N, K]) -> (y: i32[M, N]) { y[i, j] = sum[k](i32(x[i, k]) * i32(w[j, k])) * 3 }",
                          {{"M", 4}, {"N", 5}, {"K", 6}});
  EXPECT_EQ(work.matrixIntOps, 2 * 4 * 5 * 6);
  EXPECT_EQ(work.intOps, 2 * 4 * 5 * 6 + 4 * 5);
  EXPECT_EQ(work.flops, 0);
}

TEST(WorkCount, CountsLargeSizesInClosedForm) {
  WorkCount work = workOf("def f(x: f32[N, C, X, X, X], f: f32[C, O, 3, 3, 3]) -> (y: f32[N, O, 2 * X, 2 * X, 2 * X]) {\n"
                          "  y[n, o, i, j, k] = sum[c, r, s, t, (i + 1 - r) % 2 == 0, (j + 1 - s) % 2 == 0, (k + 1 - t) % 2 == 0](\n"
                          "    x.pad(0)[n, c, (i + 1 - r) // 2, (j + 1 - s) // 2, (k + 1 - t) // 2] * f[c, o, r, s, t])\n}",
                          {{"N", 16}, {"C", 32}, {"X", 4096}, {"O", 64}});
  const int64_t alongOne = 3 * 4096; // even results meet one tap, odd ones two
  EXPECT_EQ(work.flops, 2 * 16 * 64 * 32 * alongOne * alongOne * alongOne);
  work = workOf("def f(x: f32[B, M, M]) -> (y: f32[B, M]) { y[b, i] = sum[j, j <= i](x[b, i, j]) }", {{"B", 1000}, {"M", 1 << 17}});
  EXPECT_EQ(work.flops, int64_t(1000) * (int64_t(1) << 16) * ((1 << 17) + 1));
}

// Random boxes and conditions against enumeration.
TEST(PointCount, AgreesWithEnumeration) {
  mlir::MLIRContext context;
  std::mt19937 random(20261125);
  auto upTo = [&](int64_t n) { return int64_t(random() % uint64_t(n + 1)); };
  for (int round = 0; round < 300; ++round) {
    size_t rank = 1 + size_t(upTo(2));
    std::vector<int64_t> extents;
    for (size_t d = 0; d < rank; ++d)
      extents.push_back(upTo(13));
    auto linear = [&] {
      mlir::AffineExpr e = mlir::getAffineConstantExpr(upTo(12) - 6, &context);
      for (unsigned d = 0; d < rank; ++d)
        if (random() % 3)
          e = e + mlir::getAffineDimExpr(d, &context) * (upTo(6) - 3);
      return e;
    };
    auto form = [&] {
      mlir::AffineExpr e = linear();
      switch (random() % 5) {
      case 0: return e % (1 + upTo(4)) - upTo(3);
      case 1: return e.floorDiv(1 + upTo(4)) + linear();
      case 2: return (e.floorDiv(1 + upTo(2)) + linear()) % (1 + upTo(3)) - upTo(1);
      case 3: return linear() - e.ceilDiv(1 + upTo(4));
      default: return e;
      }
    };
    std::vector<PointConstraint> constraints;
    PointSet set = PointSet::all();
    std::vector<std::pair<PointConstraint, int>> steps; // and, or, and not
    for (int64_t c = upTo(3); c-- > 0;) {
      PointConstraint one{form(), random() % 3 == 0};
      constraints.push_back(one);
      int how = int(random() % 3);
      steps.push_back({one, how});
      set = how == 0 ? set & PointSet::where(one) : how == 1 ? set | PointSet::where(one) : set & !PointSet::where(one);
    }
    int64_t expected = 0, expectedOfSet = 0, total = 1;
    for (int64_t e : extents)
      total *= e;
    for (int64_t n = 0; n < total; ++n) {
      llvm::SmallVector<mlir::AffineExpr> point;
      for (int64_t rest = n; int64_t e : extents) {
        point.push_back(mlir::getAffineConstantExpr(rest % e, &context));
        rest /= e;
      }
      auto holds = [&](const PointConstraint &c) {
        int64_t v = mlir::cast<mlir::AffineConstantExpr>(c.form.replaceDims(point)).getValue();
        return c.isEquality ? v == 0 : v >= 0;
      };
      expected += llvm::all_of(constraints, holds);
      bool in = true;
      for (auto &[c, how] : steps)
        in = how == 0 ? in && holds(c) : how == 1 ? in || holds(c) : in && !holds(c);
      expectedOfSet += in;
    }
    EXPECT_EQ(countPoints(extents, constraints), expected) << round;
    EXPECT_EQ(set.count(extents), expectedOfSet) << round;
  }
}

} // namespace
} // namespace kernelc

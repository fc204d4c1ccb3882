// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Prover: facts it must find, and facts it must not invent.
#include "frontend/Prover.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

using namespace mlir;

struct ProverTest : testing::Test {
  MLIRContext context;
  Prover p;
  AffineExpr d(unsigned i) { return getAffineDimExpr(i, &context); }
  AffineExpr s(unsigned i) { return getAffineSymbolExpr(i, &context); }
  void range(AffineExpr v, AffineExpr hi) {
    p.assume(v);
    p.assume(hi - 1 - v);
  }
};

TEST_F(ProverTest, Linear) {
  range(d(0), s(0) - 1);
  EXPECT_TRUE(p.proves(s(0) - 1 - (d(0) + 1)));
  EXPECT_FALSE(p.proves(s(0) - 1 - (d(0) + 2)));
  EXPECT_FALSE(p.contradictory());
}

TEST_F(ProverTest, FloorAndModByConstants) {
  p.assume(s(0));
  range(d(0), s(0) * 4);
  EXPECT_TRUE(p.proves(s(0) - 1 - d(0).floorDiv(4)));
  EXPECT_TRUE(p.proves(d(0) % 4));
  EXPECT_TRUE(p.proves(3 - d(0) % 4));
  EXPECT_FALSE(p.proves(2 - d(0) % 4));
}

TEST_F(ProverTest, QuotientOfSizes) { // grouped heads: h // (H // G) < G when G divides H
  p.assume(s(0));
  p.assume(s(1) - 1);
  p.assume(s(0) % s(1), true);
  range(d(0), s(0));
  AffineExpr group = d(0).floorDiv(s(0).floorDiv(s(1)));
  EXPECT_TRUE(p.proves(s(0).floorDiv(s(1)) - 1));
  EXPECT_TRUE(p.proves(group));
  EXPECT_TRUE(p.proves(s(1) - 1 - group));
  EXPECT_FALSE(p.proves(s(1) - 2 - group));
}

TEST_F(ProverTest, QuotientWithoutDivisibilityIsNotProved) {
  p.assume(s(0));
  p.assume(s(1) - 1);
  range(d(0), s(0));
  EXPECT_FALSE(p.proves(s(1) - 1 - d(0).floorDiv(s(0).floorDiv(s(1)))));
}

// Shuffled channels: j % (N // G) * G + j // (N // G) < N, as 4 a size or a number.
TEST_F(ProverTest, DigitsInTheOtherOrder) {
  AffineExpr n = s(0), j = d(0);
  for (AffineExpr g : {s(1), getAffineConstantExpr(4, &context)}) {
    Prover p;
    p.assume(n);
    p.assume(g - 1);
    p.assume(n % g, true);
    p.assume(j);
    p.assume(n - 1 - j);
    AffineExpr run = n.floorDiv(g);
    EXPECT_TRUE(p.proves(n - 1 - (j % run * g + j.floorDiv(run))));
    EXPECT_FALSE(p.proves(n - 2 - (j % run * g + j.floorDiv(run))));
    Prover q = p;
    EXPECT_TRUE(q.proves(n - 1 - (j % g * run + j.floorDiv(g))));
  }
}

TEST_F(ProverTest, QuotientTimesSize) { // groups of channels: o // Q * (C // 4) + c < C where o < 4 * Q
  AffineExpr c = s(0), q = s(1), o = d(0), r = d(1);
  p.assume(c);
  p.assume(q);
  p.assume(c % 4, true);
  range(o, 4 * q);
  range(r, c.floorDiv(4));
  EXPECT_TRUE(p.proves(c - 1 - (o.floorDiv(q) * c.floorDiv(4) + r)));
  EXPECT_FALSE(p.proves(c - 2 - (o.floorDiv(q) * c.floorDiv(4) + r)));
}

TEST_F(ProverTest, QuotientTimesSizeOfAsManyGroups) { // the same, 4 a size
  AffineExpr c = s(0), q = s(1), g = s(2), o = d(0), r = d(1);
  for (AffineExpr size : {c, q, g - 1})
    p.assume(size);
  p.assume(c % g, true);
  range(o, g * q);
  range(r, c.floorDiv(g));
  EXPECT_TRUE(p.proves(c - 1 - (o.floorDiv(q) * c.floorDiv(g) + r)));
  EXPECT_FALSE(p.proves(c - 2 - (o.floorDiv(q) * c.floorDiv(g) + r)));
}

TEST_F(ProverTest, QuotientByNumberAmongMany) { // too many other atoms for a search of integers
  for (unsigned i = 2; i < 14; ++i) {
    p.assume(s(i) - 1);
    range(d(i), s(i));
  }
  range(d(0), s(0) * 0 + 64);
  range(d(1), s(0) * 0 + 8);
  AffineExpr e = d(0).floorDiv(16) * 8 + d(1);
  EXPECT_TRUE(p.proves(31 - e));
  EXPECT_FALSE(p.proves(30 - e));
}

TEST_F(ProverTest, QuotientBeyondItsGroupsIsNotProved) { // o < 4 * Q + 1
  AffineExpr q = s(0), o = d(0);
  p.assume(q - 1);
  range(o, 4 * q + 1);
  EXPECT_FALSE(p.proves(3 - o.floorDiv(q)));
}

TEST_F(ProverTest, RadixSum) { // i * W + j < H * W
  p.assume(s(0));
  p.assume(s(1));
  range(d(0), s(0));
  range(d(1), s(1));
  EXPECT_TRUE(p.proves(s(0) * s(1) - 1 - (d(0) * s(1) + d(1))));
  EXPECT_FALSE(p.proves(s(0) * s(1) - 2 - (d(0) * s(1) + d(1))));
}

TEST_F(ProverTest, ModByAZeroSizeTellsNothing) {
  p.assume(s(0));
  p.assume(s(0) % s(1), true); // holds for s1 == 0 and any s0
  range(d(0), s(0));
  EXPECT_FALSE(p.proves(s(1) - 1));
}

TEST_F(ProverTest, CounterexampleFulfilsTheAssumptions) {
  p.assume(s(0) - 100);
  range(d(0), s(0));
  std::map<unsigned, int64_t> dims, symbols;
  ASSERT_TRUE(p.findCounterexample(s(0) - 2 - d(0), dims, symbols));
  EXPECT_GE(symbols[0], 100);
  EXPECT_EQ(dims[0], symbols[0] - 1);
}

TEST(Evaluate, DivisionFloorsAndByZeroGivesZero) {
  MLIRContext context;
  AffineExpr a = getAffineDimExpr(0, &context), b = getAffineSymbolExpr(0, &context);
  std::map<unsigned, int64_t> dims = {{0, -7}}, zero = {{0, 0}}, two = {{0, 2}};
  EXPECT_EQ(evaluate(a.floorDiv(b), dims, two), -4);
  EXPECT_EQ(evaluate(a % b, dims, two), 1);
  EXPECT_EQ(evaluate(a.floorDiv(b), dims, zero), 0);
  EXPECT_EQ(evaluate(a % b, dims, zero), 0);
}

} // namespace
} // namespace kernelc::frontend

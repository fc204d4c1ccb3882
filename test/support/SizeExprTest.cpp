// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Size expressions against an oracle in 128-bit arithmetic.
#include "support/SizeExpr.h"
#include "support/Saturating.h"
#include "support/SizeRange.h"

#include <random>

#include <gtest/gtest.h>

namespace kernelc {
namespace {

using Wide = __int128;

/// The mathematical result, or the nearest 64-bit number.
int64_t oracle(SizeTerm::Op op, int64_t a64, int64_t b64) {
  Wide a = a64, b = b64, r = 0;
  Wide floor = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
  switch (op) {
  case SizeTerm::Add: r = a + b; break;
  case SizeTerm::Sub: r = a - b; break;
  case SizeTerm::Mul: r = a * b; break;
  case SizeTerm::FloorDiv: r = floor; break;
  case SizeTerm::CeilDiv: r = b == 0 ? 0 : floor + (a % b != 0); break;
  case SizeTerm::Mod: r = b == 0 ? 0 : a - floor * b; break;
  case SizeTerm::Min: r = a < b ? a : b; break;
  case SizeTerm::Max: r = a < b ? b : a; break;
  case SizeTerm::Eq: r = a == b; break;
  case SizeTerm::Ne: r = a != b; break;
  case SizeTerm::Lt: r = a < b; break;
  case SizeTerm::Le: r = a <= b; break;
  case SizeTerm::And: r = a && b; break;
  case SizeTerm::Or: r = a || b; break;
  default: break;
  }
  return r < INT64_MIN ? INT64_MIN : r > INT64_MAX ? INT64_MAX : int64_t(r);
}

constexpr SizeTerm::Op kBinary[] = {SizeTerm::Add, SizeTerm::Sub, SizeTerm::Mul, SizeTerm::FloorDiv, SizeTerm::CeilDiv,
                                    SizeTerm::Mod, SizeTerm::Min, SizeTerm::Max, SizeTerm::Eq,       SizeTerm::Ne,
                                    SizeTerm::Lt,  SizeTerm::Le,  SizeTerm::And, SizeTerm::Or};
constexpr int64_t kEdges[] = {
    0, 1, -1, 2, -2, 3, -3, 7, -7, 8, 127, 128, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};

TEST(SizeExpr, EveryOperationOnEdgeValues) {
  for (SizeTerm::Op op : kBinary)
    for (int64_t a : kEdges)
      for (int64_t b : kEdges) {
        int64_t sizes[] = {a, b};
        int64_t expected = oracle(op, a, b);
        EXPECT_EQ(SizeExpr::binary(op, SizeExpr::size(0), SizeExpr::size(1)).evaluate({sizes}), expected) << op << " " << a << " " << b;
        SizeExpr folded = SizeExpr::binary(op, a, b);
        int64_t constant = 0;
        EXPECT_TRUE(folded.isConstant(&constant));
        EXPECT_EQ(constant, expected) << "folding, " << op << " " << a << " " << b;
        // One constant side may be simplified away.
        EXPECT_EQ(SizeExpr::binary(op, SizeExpr::size(0), b).evaluate({sizes}), expected) << op << " " << a << " " << b;
        EXPECT_EQ(SizeExpr::binary(op, a, SizeExpr::size(1)).evaluate({sizes}), expected) << op << " " << a << " " << b;
      }
}

TEST(SizeExpr, RandomTrees) {
  std::mt19937_64 random(5);
  const int64_t sizes[] = {17, 128, -5};
  const std::vector<int64_t> strides[] = {{64, 1}, {3}};
  SizeEnv env{sizes, 132, strides};
  struct Tree {
    SizeExpr expr;
    int64_t value;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Tree> pool;
    for (int i = 0; i < 3; ++i)
      pool.push_back({SizeExpr::size(i), sizes[i]});
    pool.push_back({SizeExpr::smCount(), 132});
    pool.push_back({SizeExpr::stride(0, 0), 64});
    pool.push_back({SizeExpr::stride(1, 0), 3});
    pool.push_back({SizeExpr(int64_t(random() % 21) - 10), 0});
    pool.back().expr.isConstant(&pool.back().value);
    for (int i = 0; i < 12; ++i) {
      const Tree a = pool[random() % pool.size()], b = pool[random() % pool.size()];
      SizeTerm::Op op = kBinary[random() % std::size(kBinary)];
      pool.push_back({SizeExpr::binary(op, a.expr, b.expr), oracle(op, a.value, b.value)});
      if (pool.back().expr.terms().size() > 500)
        break;
      ASSERT_EQ(pool.back().expr.evaluate(env), pool.back().value);
    }
  }
}

// Ranges hold every value: random trees over sizes drawn from them, and bounds that are what they should be.
TEST(SizeRange, HoldsEveryValue) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<SizeRange> ranges;
    for (int i = 0; i < 3; ++i) {
      int64_t a = kEdges[random() % std::size(kEdges)],
              b = round % 2 ? addSaturated(a, int64_t(random() % 4)) : kEdges[random() % std::size(kEdges)];
      ranges.push_back({std::min(a, b), std::max(a, b)});
    }
    std::vector<SizeExpr> pool = {SizeExpr::size(0), SizeExpr::size(1), SizeExpr::size(2), SizeExpr(int64_t(random() % 9) - 4)};
    for (int i = 0; i < 6; ++i)
      pool.push_back(SizeExpr::binary(kBinary[random() % std::size(kBinary)], pool[random() % pool.size()], pool[random() % pool.size()]));
    for (int draw = 0; draw < 4; ++draw) {
      int64_t sizes[3];
      for (int i = 0; i < 3; ++i) {
        uint64_t span = uint64_t(ranges[i].high) - uint64_t(ranges[i].low);
        uint64_t step = draw == 0 ? 0 : draw == 1 ? span : span == UINT64_MAX ? random() : random() % (span + 1);
        sizes[i] = int64_t(uint64_t(ranges[i].low) + step);
      }
      for (const SizeExpr &e : pool) {
        SizeRange r = rangeOf(e, ranges);
        int64_t value = e.evaluate({sizes});
        ASSERT_LE(r.low, value) << e.toString({}) << " of " << sizes[0] << " " << sizes[1] << " " << sizes[2];
        ASSERT_GE(r.high, value) << e.toString({}) << " of " << sizes[0] << " " << sizes[1] << " " << sizes[2];
      }
    }
  }
}

TEST(SizeRange, DecidesGuards) {
  constexpr int64_t kAny = INT64_MAX;
  const SizeRange sizes[] = {{1, kAny}, {1, 100}};
  SizeExpr m = SizeExpr::size(0), n = SizeExpr::size(1);
  auto of = [&](SizeTerm::Op op, const SizeExpr &a, const SizeExpr &b) { return rangeOf(SizeExpr::binary(op, a, b), sizes); };
  EXPECT_EQ(of(SizeTerm::Lt, m * (int64_t(1) << 31), int64_t(1) << 30), (SizeRange{0, 0}));
  EXPECT_EQ(of(SizeTerm::Lt, m * (int64_t(1) << 29), int64_t(1) << 30), (SizeRange{0, 1}));
  EXPECT_EQ(of(SizeTerm::Lt, n * 1000, int64_t(1) << 30), (SizeRange{1, 1}));
  EXPECT_EQ(of(SizeTerm::Le, m, 0), (SizeRange{0, 0}));
  EXPECT_EQ(of(SizeTerm::Lt, m * m * m, m * (int64_t(1) << 62)), (SizeRange{0, 1}));
  EXPECT_EQ(of(SizeTerm::Eq, SizeExpr::binary(SizeTerm::Mod, m, 16), 0), (SizeRange{0, 1}));
}

TEST(Count, StopsAtItsLimit) {
  using Limits = std::numeric_limits<int64_t>;
  Count large(int64_t(1) << 40), most(Count::kMost);
  EXPECT_EQ(large * large, most);
  EXPECT_EQ(most + most, most);
  EXPECT_EQ(Count(Limits::max()), most);
  EXPECT_EQ(Count(std::numeric_limits<uint64_t>::max()), most);
  EXPECT_EQ(Count(-3), Count(0));
  EXPECT_EQ(large * 0, Count(0));
  EXPECT_EQ(ceilDiv(large * large, 128), Count(int64_t(1) << 53));
  EXPECT_EQ(ceilDiv(Count(129), 128), Count(2));
  EXPECT_EQ(Count(7) / 0, Count(7));
  EXPECT_EQ(ceilDiv(Count(0), 5), Count(0));
}

TEST(SizeExpr, Not) {
  SizeExpr e(std::vector<SizeTerm>{{SizeTerm::Size, 0}, {SizeTerm::Not, 0}});
  const int64_t zero[] = {0}, seven[] = {7};
  EXPECT_EQ(e.evaluate({zero}), 1);
  EXPECT_EQ(e.evaluate({seven}), 0);
}

TEST(SizeExpr, MissingValuesAreZero) {
  EXPECT_EQ(SizeExpr().evaluate({}), 0);
  EXPECT_EQ(SizeExpr::size(3).evaluate({}), 0);
  EXPECT_EQ(SizeExpr::size(-1).evaluate({}), 0);
  EXPECT_EQ(SizeExpr::stride(9, 9).evaluate({}), 0);
}

TEST(SizeExpr, MalformedProgramsAreHarmless) {
  EXPECT_EQ(SizeExpr(std::vector<SizeTerm>{{SizeTerm::Add, 0}}).evaluate({}), 0);
  EXPECT_EQ(SizeExpr(std::vector<SizeTerm>{{SizeTerm::Not, 0}}).evaluate({}), 0);
  EXPECT_EQ(SizeExpr(std::vector<SizeTerm>(1000, {SizeTerm::Const, 1})).evaluate({}), 0);
  EXPECT_EQ(SizeExpr(std::vector<SizeTerm>{{SizeTerm::Add, 0}}).toString({}), "<malformed>");
}

TEST(SizeExpr, Text) {
  const std::string names[] = {"M", "N"};
  SizeExpr m = SizeExpr::size(0), n = SizeExpr::size(1);
  EXPECT_EQ(ceilDiv(m, 128).toString(names), "ceildiv(M, 128)");
  EXPECT_EQ(SizeExpr::binary(SizeTerm::FloorDiv, m + 127, 128).toString(names), "(M + 127) // 128");
  EXPECT_EQ(((m + n) * (m - n)).toString(names), "(M + N) * (M - N)");
  EXPECT_EQ(SizeExpr::binary(SizeTerm::Min, SizeExpr::smCount(), SizeExpr::stride(1, 2)).toString(names), "min(sm_count, stride(1, 2))");
  EXPECT_EQ(SizeExpr(7).toString({}), "7");
  EXPECT_EQ(SizeExpr().toString({}), "0");
  EXPECT_EQ(SizeExpr::size(5).toString(names), "size5");
}

TEST(SizeExpr, Identities) {
  SizeExpr m = SizeExpr::size(0);
  EXPECT_EQ(m + 0, m);
  EXPECT_EQ(m * 1, m);
  EXPECT_EQ(SizeExpr(0) + m, m);
  EXPECT_EQ(SizeExpr(1) * m, m);
  EXPECT_EQ(ceilDiv(m, 1), m);
}

} // namespace
} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reducer on conditions that stand for bugs, and once on a bug planted in the CUDA
// text of a random program.
#include "test/emulator/fuzz/Reduce.h"

#include "test/emulator/fuzz/GenerateProgram.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::fuzz {
namespace {

bool contains(const Program &p, const std::string &text) {
  bool found = false;
  for (const Statement &s : p.statements)
    walk(s.value, [&](const Expr &e) { found |= e.text.find(text) != std::string::npos; });
  return found;
}

/// The first program with `text` that is not small already.
Case caseWith(const std::string &text) {
  Case c;
  for (uint64_t seed = 1; !contains(c.program, text) || weightOf(c) < 60; seed++)
    c.program = generateProgram(seed);
  c.schedule = {{"y0", "warps", "8"}, {"y0", "stages", "3"}, {"y0", "tile i", "32"}, {"t0", "raster", "8"}, {"", "copies", "\"never\""}};
  c.sizes = {{"A", 72}, {"B", 33}};
  c.general = true;
  return c;
}

TEST(Reduce, ShrinksProgramScheduleAndSizesTogether) {
  Case c = caseWith("tanh");
  auto fails = [](const Case &x) {
    bool staged = false;
    for (const ScheduleField &f : x.schedule)
      staged |= f.key == "stages";
    return contains(x.program, "tanh") && staged && x.sizes.at("A") >= 5;
  };
  ASSERT_TRUE(fails(c));
  Case least = reduceCase(c, fails, 5000);
  EXPECT_EQ(least.program.statements.size(), 1u) << least.toString();
  EXPECT_THAT(least.schedule, ::testing::ElementsAre(ScheduleField{"y0", "stages", "3"}));
  EXPECT_EQ(least.sizes.at("A"), 5);
  EXPECT_EQ(least.sizes.at("B"), 1);
  EXPECT_FALSE(least.general);
  EXPECT_LE(weightOf(least), 12u) << least.toString();
}

TEST(Reduce, KeepsWhatTheFailureNeeds) {
  Case c = caseWith("sum");
  auto fails = [](const Case &x) {
    bool found = false;
    for (const Statement &s : x.program.statements)
      walk(s.value, [&](const Expr &e) { found |= e.kind == Expr::Reduce && e.text == "sum"; });
    return found;
  };
  ASSERT_TRUE(fails(c));
  Case least = reduceCase(c, fails, 5000);
  EXPECT_TRUE(fails(least));
  for (const Case &smaller : smallerCases(least))
    EXPECT_FALSE(fails(smaller)) << "not the least:\n" << least.toString() << "but\n" << smaller.toString();
}

TEST(Reduce, SpendsNoMoreThanItsBudget) {
  int calls = 0;
  reduceCase(caseWith("sum"), [&](const Case &) { return ++calls, false; }, 7);
  EXPECT_EQ(calls, 7);
}

/// No barrier of the block is left.
void dropBarriers(std::string &text) {
  for (size_t at; (at = text.find("__syncthreads();")) != std::string::npos;)
    text.replace(at, 16, ";");
}

TEST(Reduce, AMissingBarrierOfARandomProgram) {
  // The first case that a missing barrier breaks and that is not small already.
  Case c;
  CaseResult how;
  for (uint64_t seed = 1; how.kind != "data race" || weightOf(c) < 30; seed++) {
    ASSERT_LT(seed, 200u);
    c = drawCase(seed);
    how = runCase(c, dropBarriers);
  }
  ASSERT_EQ(runCase(c).outcome, Outcome::Agrees) << c.toString();
  Case least = reduceCase(c, [&](const Case &x) { return runCase(x, dropBarriers).kind == how.kind; }, 40);
  EXPECT_EQ(runCase(least, dropBarriers).kind, how.kind);
  EXPECT_EQ(runCase(least).outcome, Outcome::Agrees) << "the planted bug, no other:\n" << least.toString();
  EXPECT_LT(weightOf(least), weightOf(c) / 2) << c.toString() << "became\n" << least.toString();
}

} // namespace
} // namespace kernelc::fuzz

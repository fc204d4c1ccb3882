// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/tune/ScheduleSearch.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace kernelc {
namespace {

SchedulePoint product() {
  return {{"c",
           Unit::Wgmma,
           {{"i", 128, 4096}, {"j", 256, 4096}, {"k", 64, -1}},
           {{"warps", 8}, {"producer_warps", 4}, {"stages", 4}, {"raster", 8}, {"min_blocks", 1}, {"cluster", 1}},
           {{"fill_late", false}, {"persistent", true}, {"dependent", false}}}};
}

/// A cost with its least at 64 x 512 x 64, 4 warps, 6 slots; odd slot counts are illegal.
double costOf(const LaunchRecord &r) {
  auto off = [](double x, double best) { return std::fabs(std::log2(x / best)); };
  return 1 + off(r.tiles[0].size, 64) + off(r.tiles[1].size, 512) + off(r.tiles[2].size, 64) + off(r.numbers.at("warps"), 4) +
         std::fabs(r.numbers.at("stages") - 6.0) / 8;
}

std::vector<ScheduleTrial> evaluate(const SchedulePoint &best, const std::vector<SchedulePoint> &points) {
  std::vector<ScheduleTrial> trials;
  for (const SchedulePoint &p : points) {
    ScheduleTrial t{p, costOf(p[0]), 0, ""};
    if (p[0].tiles[0].size == 32)
      t.rejected = "illegal";
    else
      t.ofBest = costOf(best[0]) / t.seconds;
    trials.push_back(t);
  }
  return trials;
}

TEST(ScheduleSearch, FindsTheLeastOfASlope) {
  SearchResult r = searchSchedules({product()}, {.evaluate = evaluate, .leastGain = 1.001, .mostBehind = 1.15});
  EXPECT_EQ(r.best[0].tiles[0].size, 64);
  EXPECT_EQ(r.best[0].tiles[1].size, 512);
  EXPECT_EQ(r.best[0].tiles[2].size, 64);
  EXPECT_EQ(r.best[0].numbers.at("warps"), 4);
  EXPECT_EQ(r.best[0].numbers.at("stages"), 6);
  EXPECT_GE(r.rounds, 3);
}

TEST(ScheduleSearch, AsksForNoPointTwiceAndStaysInBounds) {
  SearchResult r = searchSchedules({product()}, {.evaluate = evaluate, .leastGain = 1.001, .mostBehind = 1.15});
  for (size_t i = 0; i < r.trials.size(); ++i) {
    const SchedulePoint &p = r.trials[i].point;
    EXPECT_FALSE(p == product());
    EXPECT_LE(p[0].tiles[1].size, 4096);
    for (size_t k = 0; k < i; ++k)
      EXPECT_FALSE(p == r.trials[k].point);
  }
}

TEST(ScheduleSearch, StopsWhereNothingIsFasterOrTimeIsOver) {
  auto flat = [](const SchedulePoint &, const std::vector<SchedulePoint> &points) {
    std::vector<ScheduleTrial> trials;
    for (const SchedulePoint &p : points)
      trials.push_back({p, 1, 1.0, ""});
    return trials;
  };
  SearchResult r = searchSchedules({product()}, {.evaluate = flat, .leastGain = 1.01, .mostBehind = 1.15});
  EXPECT_EQ(r.rounds, 1);
  EXPECT_EQ(r.best, product());
  EXPECT_EQ(searchSchedules({product()}, {.evaluate = evaluate, .goOn = [] { return false; }}).rounds, 0);
}

TEST(ScheduleSearch, NeverMovesToARejectedPoint) {
  auto tempting = [](const SchedulePoint &, const std::vector<SchedulePoint> &points) {
    std::vector<ScheduleTrial> trials;
    for (const SchedulePoint &p : points)
      trials.push_back({p, 0.1, 10.0, "wrong: element 3 is 0, not 1"});
    return trials;
  };
  EXPECT_EQ(searchSchedules({product()}, {.evaluate = tempting, .leastGain = 1.01, .mostBehind = 1.15}).best, product());
}

/// A start on another unit: slow as it is, and the fastest of all after a few steps.
std::vector<ScheduleTrial> evaluateUnits(const SchedulePoint &best, const std::vector<SchedulePoint> &points) {
  auto cost = [](const SchedulePoint &p) { return p[0].unit == Unit::Mma ? 0.6 + 0.05 * double(p[0].tiles[2].size) : 2.0; };
  std::vector<ScheduleTrial> trials;
  for (const SchedulePoint &p : points)
    trials.push_back({p, cost(p), cost(best) / cost(p), ""});
  return trials;
}

TEST(ScheduleSearch, ClimbsFromEveryStartThatIsNotFarBehind) {
  SchedulePoint other = product();
  other[0].unit = Unit::Mma;
  other[0].tiles[2].size = 32; // costs 2.2, at 1 0.65
  SearchResult r = searchSchedules({product(), other}, {.evaluate = evaluateUnits, .leastGain = 1.01, .mostBehind = 1.15});
  EXPECT_EQ(r.best[0].unit, Unit::Mma);
  EXPECT_EQ(r.best[0].tiles[2].size, 1);
  EXPECT_EQ(r.trials[0].point, other);
  EXPECT_EQ(searchSchedules({product(), other}, {.evaluate = evaluateUnits, .leastGain = 1.01, .mostBehind = 1.05}).best, product());
}

TEST(ScheduleSearch, TeamsTakeTilesOfHalfTheRows) {
  SchedulePoint teams = product();
  teams[0].numbers["pingpong"] = 1;
  auto all = neighboursOf(teams);
  auto is = [](const LaunchRecord &r) { return r.numbers.at("pingpong") == 2 && r.numbers.at("warps") == 4 && r.tiles[0].size == 64; };
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const SchedulePoint &p) { return is(p[0]); }));
  auto columns = [](const LaunchRecord &r) { return r.tiles[1].size == 192; };
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const SchedulePoint &p) { return columns(p[0]); }));
}

TEST(ScheduleSearch, OfTheWholeKernelPartsAreStepped) {
  SchedulePoint parts{{"", {}, {}, {{"parts", 8}}, {}}};
  auto all = neighboursOf(parts);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0][0].numbers.at("parts"), 16);
  EXPECT_EQ(all[1][0].numbers.at("parts"), 4);
}

TEST(ScheduleSearch, NeighboursDependOnTheUnit) {
  auto differ = [](const SchedulePoint &from, auto pick) {
    auto all = neighboursOf(from);
    return std::any_of(all.begin(), all.end(), [&](const SchedulePoint &p) { return pick(p[0]) != pick(from[0]); });
  };
  auto cluster = [](const LaunchRecord &r) { return r.numbers.at("cluster"); };
  auto blocks = [](const LaunchRecord &r) { return r.numbers.at("min_blocks"); };
  EXPECT_TRUE(differ(product(), cluster));
  EXPECT_FALSE(differ(product(), blocks));
  SchedulePoint rows = product();
  rows[0].unit = Unit::Simt;
  EXPECT_FALSE(differ(rows, cluster));
  EXPECT_TRUE(differ(rows, blocks));
}

TEST(ScheduleSearch, PrintsAScheduleFile) {
  EXPECT_EQ(*printJson(toJson({{"", {}, {}, {}, {}, {{"copies", "never"}}}}, "k")), R"([{"kernel":"k","copies":"never"}])");
  EXPECT_EQ(*printJson(toJson({{"y", Unit::Simt, {{"i", 2, 8}}, {{"warps", 4}}, {{"dependent", true}}}}, "k")),
            R"([{"kernel":"k","launch":"y","unit":"simt","tiles":{"i":2},"warps":4,"dependent":true}])");
}

} // namespace
} // namespace kernelc

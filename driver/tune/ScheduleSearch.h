// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A local search over schedule records: from those of a cost model, one field at a time,
// to the fastest that can be found. Knows no GPU and no kernel; who asks measures.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/Json.h"
#include "support/Unit.h"

namespace kernelc {

/// One launch's record, with the keys of a schedule file (driver/compile/ScheduleFile.h); without a launch
/// what is said of the whole kernel.
struct LaunchRecord {
  std::string launch;
  std::optional<Unit> unit; ///< of a launch
  struct Tile {
    std::string index;
    int64_t size, bound; ///< `bound`: a power of two that covers what a tile may have of the index, -1 if unknown
    friend bool operator==(const Tile &, const Tile &) = default;
  };
  std::vector<Tile> tiles;
  std::map<std::string, int64_t> numbers;        ///< warps, stages, raster, ...
  std::map<std::string, bool> flags;             ///< persistent, dependent, ...
  std::map<std::string, std::string> words = {}; ///< copies, merge
  friend bool operator==(const LaunchRecord &, const LaunchRecord &) = default;
};
/// A point of the search: a record per launch, behind one of the whole kernel where there is something to say of it.
using SchedulePoint = std::vector<LaunchRecord>;

/// As a schedule file's list, for `kernel`.
Json toJson(const SchedulePoint &point, const std::string &kernel);

/// The points that differ from `point` in a field of one launch (a tile doubled or
/// halved, alone, with the warps, or against another tile; columns of wgmma by 64 more or less; two teams
/// instead of one; warps, slots, raster, ...).
/// Legal or not is for the compiler to say.
std::vector<SchedulePoint> neighboursOf(const SchedulePoint &point);

/// What became of one point.
struct ScheduleTrial {
  SchedulePoint point;
  double seconds = 0;   ///< median, 0 where not measured
  double ofBest = 0;    ///< the best point's median over this one's, in the same rounds: above 1 is faster
  std::string rejected; ///< why it was not measured
};

struct ScheduleSearch {
  /// Compiles, checks and measures `points` beside `best`, in turns; a trial for each.
  std::function<std::vector<ScheduleTrial>(const SchedulePoint &best, const std::vector<SchedulePoint> &points)> evaluate;
  /// Whether to go on; asked before every round. May be empty: until nothing is better.
  std::function<bool()> goOn;
  /// Whether an earlier search has tried a point, so that it is not asked for again; never of the first start. May be empty: none has.
  std::function<bool(const SchedulePoint &)> isKnown;
  /// How much faster a point must be for the search to move there: more than the noise.
  double leastGain = 1.01;
  /// Of several starts those are climbed from that take at most so much longer than the fastest.
  double mostBehind = 1.15;
};

struct SearchResult {
  SchedulePoint best;
  std::vector<ScheduleTrial> trials; ///< in the order in which they were asked for
  int rounds = 0;
};

/// Compares `starts`, at least one, with the first of them; then moves from the fastest to its fastest neighbour until
/// none is faster by `leastGain`, and so from the other starts that are not far behind. Asks for no point twice,
/// but for the best of each climb.
SearchResult searchSchedules(const std::vector<SchedulePoint> &starts, const ScheduleSearch &search);

} // namespace kernelc

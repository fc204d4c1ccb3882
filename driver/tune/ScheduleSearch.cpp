// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/tune/ScheduleSearch.h"

#include <algorithm>

namespace kernelc {
namespace {

/// The fields of one launch that a step changes.
class Steps {
public:
  explicit Steps(const LaunchRecord &from) : from_(from) {}

  std::vector<LaunchRecord> all() {
    if (from_.launch.empty()) { // of the whole kernel
      for (bool up : {true, false})
        step([&](LaunchRecord &r) { return scale(r, "parts", up, 1, 1 << 16); });
      return std::move(found_);
    }
    size_t n = from_.tiles.size();
    for (size_t i = 0; i < n; ++i)
      for (bool up : {true, false}) {
        step([&](LaunchRecord &r) { return scaleTile(r, i, up); });
        step([&](LaunchRecord &r) { return scaleTile(r, i, up) && scale(r, "warps", up, 1, 32); });
        for (size_t k = 0; k < n; ++k)
          if (k != i && up)
            step([&](LaunchRecord &r) { return scaleTile(r, i, true) && scaleTile(r, k, false); });
      }
    for (bool up : {true, false})
      step([&](LaunchRecord &r) { return scale(r, "warps", up, 1, 32); });
    bool rings = from_.unit != Unit::Simt || at("stages") > 1;
    for (bool up : {true, false}) {
      if (rings)
        step([&](LaunchRecord &r) { return add(r, "stages", up ? 1 : -1, 2, 12); });
      if (rings)
        step([&](LaunchRecord &r) { return scale(r, "raster", up, 1, 32); });
      if (from_.unit != Unit::Wgmma)
        step([&](LaunchRecord &r) { return add(r, "min_blocks", up ? 1 : -1, 1, 4); });
      if (from_.unit == Unit::Wgmma || at("cluster") > 1) // of a product, or sharing an index out
        step([&](LaunchRecord &r) { return scale(r, "cluster", up, 1, from_.unit == Unit::Wgmma ? 4 : 8); });
    }
    if (at("ahead")) // of a walk
      for (bool up : {true, false})
        step([&](LaunchRecord &r) { return scale(r, "ahead", up, 1, 16); });
    if (from_.unit == Unit::Simt)
      step([&](LaunchRecord &r) { return toggle(r, "peel"); });
    if (from_.unit == Unit::Simt && rings) // of a product
      step([&](LaunchRecord &r) { return set(r, "producer_warps", at("producer_warps") ? 0 : 4, 0, 4); });
    if (from_.unit == Unit::Simt && at("producer_warps"))
      step([&](LaunchRecord &r) { return toggle(r, "persistent"); });
    if (from_.unit == Unit::Wgmma)
      warpgroups();
    if (from_.unit == Unit::Mma)
      step([&](LaunchRecord &r) { return toggle(r, "fill_late"); });
    return std::move(found_);
  }

private:
  /// What launches of warpgroups have beside.
  void warpgroups() {
    for (const char *flag : {"persistent", "rotate", "turned"})
      step([&](LaunchRecord &r) { return toggle(r, flag); });
    for (bool up : {true, false})
      step([&](LaunchRecord &r) { return scale(r, "part", up, 8, 256); });
    if (at("promote")) // products that start from zero
      for (bool up : {true, false})
        step([&](LaunchRecord &r) { return add(r, "in_flight", up ? 1 : -1, 1, 3); });
    // Two teams that take a block's tiles in turns, each with a tile of half as many rows or columns, or with a whole one.
    bool one = at("pingpong") <= 1;
    auto teams = [&](LaunchRecord &r) { return scale(r, "pingpong", one, 1, 2) && scale(r, "warps", !one, 4, 16); };
    step(teams);
    for (size_t i = 0; i < from_.tiles.size(); ++i) {
      step([&](LaunchRecord &r) { return teams(r) && scaleTile(r, i, !one); });
      for (int64_t by : {-64, 64}) { // 192 of columns is as good a size as 256
        step([&](LaunchRecord &r) { return addToTile(r, i, by); });
        // Three warpgroups for two, each with 64 rows.
        if (at("warps") == (by > 0 ? 8 : 12))
          step([&](LaunchRecord &r) { return set(r, "warps", by > 0 ? 12 : 8, 8, 12) && addToTile(r, i, by); });
      }
    }
    step([&](LaunchRecord &r) { return set(r, "producer_warps", at("producer_warps") ? 0 : 4, 0, 4); });
  }

  int64_t at(const std::string &key) const {
    auto it = from_.numbers.find(key);
    return it == from_.numbers.end() ? 0 : it->second;
  }
  template <typename Change> void step(Change change) {
    LaunchRecord r = from_;
    if (change(r))
      found_.push_back(std::move(r));
  }
  static bool scaleTile(LaunchRecord &r, size_t i, bool up) {
    LaunchRecord::Tile &t = r.tiles[i];
    int64_t size = up ? t.size * 2 : t.size / 2;
    if (size < 1 || (up && t.bound >= 0 && size > t.bound))
      return false;
    t.size = size;
    return true;
  }
  static bool addToTile(LaunchRecord &r, size_t i, int64_t by) {
    LaunchRecord::Tile &t = r.tiles[i];
    if (t.size < 64 || t.size + by < 64 || (t.bound >= 0 && t.size + by > t.bound))
      return false;
    t.size += by;
    return true;
  }
  static bool set(LaunchRecord &r, const std::string &key, int64_t value, int64_t least, int64_t most) {
    auto it = r.numbers.find(key);
    if (it == r.numbers.end() || value < least || value > most)
      return false;
    it->second = value;
    return true;
  }
  static bool scale(LaunchRecord &r, const std::string &key, bool up, int64_t least, int64_t most) {
    return set(r, key, up ? r.numbers[key] * 2 : r.numbers[key] / 2, least, most);
  }
  static bool add(LaunchRecord &r, const std::string &key, int64_t by, int64_t least, int64_t most) {
    return set(r, key, r.numbers[key] + by, least, most);
  }
  static bool toggle(LaunchRecord &r, const std::string &key) {
    r.flags[key] = !r.flags[key];
    return true;
  }

  const LaunchRecord &from_;
  std::vector<LaunchRecord> found_;
};

} // namespace

Json toJson(const SchedulePoint &point, const std::string &kernel) {
  JsonArray list;
  for (const LaunchRecord &r : point) {
    JsonObject tiles;
    for (const LaunchRecord::Tile &t : r.tiles)
      tiles.push_back({t.index, t.size});
    JsonObject o{{"kernel", kernel}};
    if (!r.launch.empty())
      o.insert(o.end(), {{"launch", r.launch}, {"unit", std::string(nameOf(*r.unit))}, {"tiles", std::move(tiles)}});
    for (const auto &[key, value] : r.words)
      o.push_back({key, value});
    for (const auto &[key, value] : r.numbers)
      o.push_back({key, value});
    for (const auto &[key, value] : r.flags)
      o.push_back({key, value});
    list.push_back(std::move(o));
  }
  return list;
}

std::vector<SchedulePoint> neighboursOf(const SchedulePoint &point) {
  std::vector<SchedulePoint> found;
  for (size_t i = 0; i < point.size(); ++i)
    for (LaunchRecord &r : Steps(point[i]).all()) {
      SchedulePoint next = point;
      next[i] = std::move(r);
      if (std::find(found.begin(), found.end(), next) == found.end())
        found.push_back(std::move(next));
    }
  return found;
}

namespace {

class Climber {
public:
  explicit Climber(const ScheduleSearch &search) : search_(search) {}

  SearchResult run(const std::vector<SchedulePoint> &starts) {
    result_.best = starts.front();
    std::vector<SchedulePoint> others;
    for (const SchedulePoint &p : starts)
      if (isNew(p) && !(p == starts.front()) && !isKnown(p))
        others.push_back(p);
    struct Start {
      double ofFirst;
      SchedulePoint point;
    };
    std::vector<Start> ranked{{1, starts.front()}};
    if (!others.empty() && goesOn())
      for (ScheduleTrial &t : evaluate(starts.front(), others))
        if (t.rejected.empty())
          ranked.push_back({t.ofBest, std::move(t.point)});
    std::stable_sort(ranked.begin(), ranked.end(), [](const Start &a, const Start &b) { return a.ofFirst > b.ofFirst; });
    for (size_t i = 0; i < ranked.size() && ranked[i].ofFirst * search_.mostBehind >= ranked[0].ofFirst; ++i) {
      SchedulePoint top = climb(ranked[i].point);
      if (i == 0 || (!(top == result_.best) && isFaster(top)))
        result_.best = std::move(top);
    }
    return std::move(result_);
  }

private:
  bool goesOn() const { return !search_.goOn || search_.goOn(); }
  bool isKnown(const SchedulePoint &p) const { return search_.isKnown && search_.isKnown(p); }
  bool isNew(const SchedulePoint &p) {
    bool known = std::find(seen_.begin(), seen_.end(), p) != seen_.end();
    if (!known)
      seen_.push_back(p);
    return !known;
  }

  /// One round: a trial for each of `points`, which are kept.
  std::vector<ScheduleTrial> evaluate(const SchedulePoint &best, const std::vector<SchedulePoint> &points) {
    ++result_.rounds;
    std::vector<ScheduleTrial> trials = search_.evaluate(best, points);
    result_.trials.insert(result_.trials.end(), trials.begin(), trials.end());
    return trials;
  }

  /// From `point` to the fastest neighbour, until none is faster.
  SchedulePoint climb(SchedulePoint point) {
    while (goesOn()) {
      std::vector<SchedulePoint> next;
      for (SchedulePoint &p : neighboursOf(point))
        if (isNew(p) && !isKnown(p))
          next.push_back(std::move(p));
      if (next.empty())
        break;
      std::vector<ScheduleTrial> trials = evaluate(point, next);
      auto gain = [&](const ScheduleTrial &t) { return t.rejected.empty() && t.ofBest >= search_.leastGain ? t.ofBest : 0; };
      auto fastest =
          std::max_element(trials.begin(), trials.end(), [&](const ScheduleTrial &a, const ScheduleTrial &b) { return gain(a) < gain(b); });
      if (fastest == trials.end() || gain(*fastest) == 0)
        break;
      point = std::move(fastest->point);
    }
    return point;
  }

  bool isFaster(const SchedulePoint &point) {
    if (!goesOn())
      return false;
    std::vector<ScheduleTrial> trials = evaluate(result_.best, {point});
    return !trials.empty() && trials[0].rejected.empty() && trials[0].ofBest >= search_.leastGain;
  }

  const ScheduleSearch &search_;
  SearchResult result_;
  std::vector<SchedulePoint> seen_;
};

} // namespace

SearchResult searchSchedules(const std::vector<SchedulePoint> &starts, const ScheduleSearch &search) { return Climber(search).run(starts); }

} // namespace kernelc

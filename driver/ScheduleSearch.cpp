#include "driver/ScheduleSearch.h"

#include <algorithm>

namespace kernelc {
namespace {

/// The fields of one launch that a step changes.
class Steps {
public:
  explicit Steps(const LaunchRecord &from) : from_(from) {}

  std::vector<LaunchRecord> all() {
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
    bool rings = from_.unit != "simt" || at("stages") > 1;
    for (bool up : {true, false}) {
      if (rings)
        step([&](LaunchRecord &r) { return add(r, "stages", up ? 1 : -1, 2, 12); });
      if (rings)
        step([&](LaunchRecord &r) { return scale(r, "raster", up, 1, 32); });
      if (from_.unit != "wgmma")
        step([&](LaunchRecord &r) { return add(r, "min_blocks", up ? 1 : -1, 1, 4); });
      if (from_.unit == "wgmma" || at("cluster") > 1) // of a product, or sharing an index out
        step([&](LaunchRecord &r) { return scale(r, "cluster", up, 1, from_.unit == "wgmma" ? 4 : 8); });
    }
    if (from_.unit == "wgmma")
      for (const char *flag : {"persistent", "rotate"})
        step([&](LaunchRecord &r) { return toggle(r, flag); });
    if (from_.unit == "mma")
      step([&](LaunchRecord &r) { return toggle(r, "fill_late"); });
    return std::move(found_);
  }

private:
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
    JsonObject o{{"kernel", kernel}, {"launch", r.launch}, {"unit", r.unit}, {"tiles", std::move(tiles)}};
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

SearchResult searchSchedules(const SchedulePoint &start, const ScheduleSearch &search) {
  SearchResult result{start, {}, 0};
  std::vector<SchedulePoint> seen{start};
  while (!search.goOn || search.goOn()) {
    std::vector<SchedulePoint> next;
    for (SchedulePoint &p : neighboursOf(result.best))
      if (std::find(seen.begin(), seen.end(), p) == seen.end()) {
        seen.push_back(p);
        next.push_back(std::move(p));
      }
    if (next.empty())
      break;
    ++result.rounds;
    std::vector<ScheduleTrial> trials = search.evaluate(result.best, next);
    const ScheduleTrial *fastest = nullptr;
    for (const ScheduleTrial &t : trials)
      if (t.rejected.empty() && t.ofBest >= search.leastGain && (!fastest || t.ofBest > fastest->ofBest))
        fastest = &t;
    if (fastest)
      result.best = fastest->point;
    bool moved = fastest;
    result.trials.insert(result.trials.end(), std::make_move_iterator(trials.begin()), std::make_move_iterator(trials.end()));
    if (!moved)
      break;
  }
  return result;
}

} // namespace kernelc

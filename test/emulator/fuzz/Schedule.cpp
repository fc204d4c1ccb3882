// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/fuzz/Schedule.h"

#include <algorithm>
#include <map>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::fuzz {
namespace {

/// The values worth trying of a number; those that most often decide something, or the least and powers of two up to the most.
std::vector<int64_t> valuesOf(const te::ScheduleNumber &number) {
  static const std::map<std::string, std::vector<int64_t>> kValues = {{"warps", {1, 2, 3, 4, 4, 8, 8, 12, 16}},
                                                                      {"producer_warps", {0, 1, 4, 4}},
                                                                      {"stages", {1, 2, 3, 4, 5, 8}},
                                                                      {"raster", {1, 2, 3, 8, 16}},
                                                                      {"min_blocks", {1, 2, 4}},
                                                                      {"cluster", {1, 2, 2, 4}},
                                                                      {"part", {16, 32, 64, 128, 256}},
                                                                      {"pingpong", {1, 2, 2, 3}},
                                                                      {"promote", {0, 32, 64, 128}},
                                                                      {"clamp", {0, 1, 4, 16}},
                                                                      {"in_flight", {1, 2, 2, 3}},
                                                                      {"ahead", {0, 2, 3, 4, 8}},
                                                                      {"beside", {0, 300, 700}}};
  if (auto known = kValues.find(number.key.str()); known != kValues.end())
    return known->second;
  std::vector<int64_t> values{number.least};
  for (int64_t value = 1; value <= number.most; value *= 2)
    if (value > number.least)
      values.push_back(value);
  return values;
}

} // namespace

std::vector<Launch> planLaunches(mlir::ModuleOp module, const std::string &kernel, const VariantOptions &options) {
  std::vector<Launch> launches;
  mlir::OwningOpRef<mlir::ModuleOp> planned = runPipeline(module, options, Stage::Plan);
  if (!planned)
    return launches;
  for (auto op : planned->getOps<te::KernelOp>()) {
    auto plan = te::getPlan(op);
    if (op.getSymName() == kernel && mlir::succeeded(plan))
      for (const te::LaunchPlan &l : plan->launches)
        launches.push_back({l.name, l.unit, {l.indices.begin(), l.indices.end()}, {l.tiles.begin(), l.tiles.end()}});
  }
  return launches;
}

Schedule drawSchedule(uint64_t seed, const std::vector<Launch> &launches) {
  std::mt19937_64 random(seed);
  auto below = [&](uint64_t n) { return random() % n; };
  Schedule schedule;
  for (const Launch &l : launches) {
    auto set = [&](const std::string &key, const std::string &value) {
      auto at = std::find_if(schedule.begin(), schedule.end(), [&](const ScheduleField &f) { return f.launch == l.name && f.key == key; });
      if (at != schedule.end())
        at->value = value;
      else
        schedule.push_back({l.name, key, value});
    };
    if (below(6) == 0 && l.unit != Unit::Simt)
      set("unit", l.unit == Unit::Wgmma && below(3) ? "\"mma\"" : "\"simt\"");
    for (uint64_t n = 1 + below(4); n > 0; n--) {
      uint64_t which = below(4);
      if (which < 2 && !l.indices.empty()) {
        size_t i = below(l.indices.size());
        int64_t tile = l.tiles[i];
        switch (below(5)) {
        case 0: tile = std::max<int64_t>(1, tile / 2); break;
        case 1: tile = std::min<int64_t>(256, tile * 2); break;
        case 2: // no power of two
          tile = std::vector<int64_t>{3, 24, 40, 48, 96, 176, 192}[below(7)];
          break;
        default: tile = int64_t(1) << below(9);
        }
        set("tile " + l.indices[i], std::to_string(tile));
      } else if (which == 2 && below(2)) {
        const te::ScheduleFlag &f = te::kScheduleFlags[below(std::size(te::kScheduleFlags))];
        set(f.key.str(), below(2) ? "true" : "false");
      } else {
        const te::ScheduleNumber &f = te::kScheduleNumbers[below(std::size(te::kScheduleNumbers))];
        std::vector<int64_t> values = valuesOf(f);
        set(f.key.str(), std::to_string(values[below(values.size())]));
      }
    }
  }
  if (below(6) == 0)
    schedule.push_back({"", "copies", below(2) ? "\"always\"" : "\"never\""});
  return schedule;
}

std::string printSchedule(const Schedule &schedule, const std::string &kernel, const std::vector<Launch> &launches) {
  std::vector<std::string> records;
  auto record = [&](const std::vector<std::string> &fields) {
    records.push_back(absl::StrCat("{\"kernel\": \"", kernel, "\", ", absl::StrJoin(fields, ", "), "}"));
  };
  for (const ScheduleField &f : schedule)
    if (f.launch.empty())
      record({absl::StrCat("\"", f.key, "\": ", f.value)});
  for (const Launch &l : launches) {
    std::vector<std::string> fields = {absl::StrCat("\"launch\": \"", l.name, "\"")}, tiles;
    for (const ScheduleField &f : schedule) {
      if (f.launch != l.name)
        continue;
      absl::string_view index = f.key;
      if (!absl::ConsumePrefix(&index, "tile "))
        fields.push_back(absl::StrCat("\"", f.key, "\": ", f.value));
      else if (std::find(l.indices.begin(), l.indices.end(), index) != l.indices.end())
        tiles.push_back(absl::StrCat("\"", index, "\": ", f.value));
    }
    if (!tiles.empty())
      fields.push_back(absl::StrCat("\"tiles\": {", absl::StrJoin(tiles, ", "), "}"));
    if (fields.size() > 1)
      record(fields);
  }
  return absl::StrCat("[", absl::StrJoin(records, ",\n "), "]");
}

} // namespace kernelc::fuzz

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Schedule.h"

#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "support/Saturating.h"
#include "support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// The records of the attribute; null entries for what is no dictionary.
SmallVector<DictionaryAttr> recordsOf(KernelOp kernel) {
  SmallVector<DictionaryAttr> out;
  if (ArrayAttr list = kernel.getScheduleAttr())
    for (Attribute a : list)
      out.push_back(dyn_cast<DictionaryAttr>(a));
  return out;
}

StringRef textOf(DictionaryAttr record, StringRef key) {
  auto s = record.getAs<StringAttr>(key);
  return s ? s.getValue() : StringRef();
}

InFlightDiagnostic emitError(KernelOp kernel, StringRef launch, ArrayRef<StringRef> keys, bool isName = false) {
  return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), launch, keys, isName)) << "schedule of launch '" << launch << "': ";
}

LogicalResult applyTiles(KernelOp kernel, DictionaryAttr tiles, LaunchPlan &l) {
  for (NamedAttribute t : tiles) {
    auto size = dyn_cast<IntegerAttr>(t.getValue());
    StringRef name = t.getName().getValue();
    if (!llvm::is_contained(l.indices, name))
      return emitError(kernel, l.name, {"tiles", name}, /*isName=*/true)
             << "there is no index '" << name << "'; it has " << llvm::join(l.indices, ", ");
    if (!size || size.getInt() <= 0)
      return emitError(kernel, l.name, {"tiles", name}) << "the tile of '" << name << "' must be a positive number";
    for (auto [index, tile] : llvm::zip_equal(l.indices, l.tiles)) // (several sums may call what they reduce alike)
      if (index == name)
        tile = size.getInt();
  }
  // Whatever else is wrong with a tile is said later, by sizes that are multiplied out.
  constexpr int64_t kMostPoints = int64_t(1) << 30;
  Count points = 1;
  for (int64_t t : l.tiles)
    points *= t;
  if (points > kMostPoints)
    return emitError(kernel, l.name, {"tiles"}) << "its tiles have more than 2^30 points";
  return success();
}

/// `unroll`: rounds of an index's loop that NVRTC unrolls, "full" or "none".
LogicalResult applyUnroll(KernelOp kernel, DictionaryAttr loops, LaunchPlan &l) {
  constexpr int64_t kMost = 1024;
  l.unroll.assign(l.indices.size(), 0);
  for (NamedAttribute loop : loops) {
    StringRef name = loop.getName().getValue();
    auto at = llvm::find(l.indices, name);
    if (at == l.indices.end())
      return emitError(kernel, l.name, {"unroll", name}, /*isName=*/true)
             << "there is no index '" << name << "'; it has " << llvm::join(l.indices, ", ");
    int64_t &rounds = l.unroll[at - l.indices.begin()];
    auto number = dyn_cast<IntegerAttr>(loop.getValue());
    auto word = dyn_cast<StringAttr>(loop.getValue());
    if (number && number.getInt() >= 1 && number.getInt() <= kMost)
      rounds = number.getInt();
    else if (word && word.getValue() == "full")
      rounds = LaunchPlan::kUnrollAll;
    else if (word && word.getValue() == "none")
      rounds = 1;
    else
      return emitError(kernel, l.name, {"unroll", name})
             << "the loop over '" << *at << "' is unrolled by full, none or a number of rounds from 1 to " << kMost;
  }
  return success();
}

/// What Triton and TVM call a field; empty for none.
StringRef keyMeant(StringRef key) {
  return llvm::StringSwitch<StringRef>(key.lower())
      .Cases({"block_m", "block_n", "block_k", "block_size", "tile", "tile_m", "tile_n", "tile_k"}, "tiles")
      .Cases({"num_warps", "threads", "num_threads"}, "warps")
      .Cases({"num_stages", "pipeline_depth"}, "stages")
      .Cases({"num_ctas", "cluster_size"}, "cluster")
      .Cases({"group_m", "group_size_m", "swizzle"}, "raster")
      .Cases({"maxnreg", "occupancy"}, "min_blocks")
      .Default("");
}

LogicalResult reportUnknownKey(KernelOp kernel, StringRef launch, StringRef key) {
  SmallVector<StringRef> known = {"tiles", "unit", "unroll"};
  llvm::append_range(known, llvm::map_range(kScheduleFlags, [](const ScheduleFlag &x) { return x.key; }));
  llvm::append_range(known, llvm::map_range(kScheduleNumbers, [](const ScheduleNumber &x) { return x.key; }));
  std::vector<absl::string_view> words;
  for (StringRef k : known)
    words.emplace_back(k.data(), k.size());
  std::string near = keyMeant(key).str();
  if (near.empty())
    near = findNearest(absl::string_view(key.data(), key.size()), words);
  InFlightDiagnostic d = emitError(kernel, launch, {key}, /*isName=*/true);
  d << "unknown key '" << key << "'; ";
  if (key == "block" || key == "threads" || key == "num_threads") // CUDA's is its threads, Triton's its elements
    d << "a block's threads are 32 times 'warps', its elements are in 'tiles'";
  else if (!near.empty())
    d << "did you mean '" << near << "'?";
  else
    d << "there are " << llvm::join(known, ", ");
  return d;
}

/// Of a block's tile.
double resultsPerWarp(const LaunchPlan &l) {
  double results = 1;
  for (int64_t g : l.grid)
    results *= double(std::max<int64_t>(1, l.tiles[g]));
  return results / double(std::max<int64_t>(1, l.warps));
}
} // namespace

LogicalResult applySchedule(KernelOp kernel, StringRef target, LaunchPlan &l) {
  SmallVector<StringRef> targets; // of the records so far
  double planned = resultsPerWarp(l);
  bool isBounded = false;
  for (DictionaryAttr record : recordsOf(kernel)) {
    if (!record)
      return kernel.emitError() << "'schedule' must be a list of records, which are dictionaries";
    StringRef wanted = textOf(record, "target");
    if (textOf(record, "launch") != l.name || (!wanted.empty() && wanted != target))
      continue;
    if (llvm::is_contained(targets, wanted))
      return emitError(kernel, l.name, {}) << "there are two records of it" << (wanted.empty() ? std::string() : (" for " + wanted).str());
    targets.push_back(wanted);
    for (NamedAttribute entry : record) {
      StringRef key = entry.getName().getValue();
      auto wrong = [&](const Twine &expected) { return emitError(kernel, l.name, {key}) << "'" << key << "' must be " << expected; };
      if (key == "launch" || key == "target")
        continue;
      if (key == "tiles") {
        auto tiles = dyn_cast<DictionaryAttr>(entry.getValue());
        if (!tiles)
          return wrong("a tile size per index, as in {\"" + (l.indices.empty() ? std::string("i") : l.indices.front()) + "\": 128}");
        if (failed(applyTiles(kernel, tiles, l)))
          return failure();
      } else if (key == "unroll") {
        auto loops = dyn_cast<DictionaryAttr>(entry.getValue());
        if (!loops)
          return wrong("full, none or a number of rounds per index");
        if (failed(applyUnroll(kernel, loops, l)))
          return failure();
      } else if (key == "unit") {
        auto unit = dyn_cast<StringAttr>(entry.getValue());
        std::optional<Unit> known = unit ? findUnit(unit.getValue()) : std::nullopt;
        if (!known)
          return wrong(kUnitNames);
        l.unit = *known;
      } else if (auto *f = llvm::find_if(kScheduleFlags, [&](const ScheduleFlag &x) { return x.key == key; });
                 f != std::end(kScheduleFlags)) {
        auto value = dyn_cast<BoolAttr>(entry.getValue());
        if (!value)
          return wrong("true or false");
        l.*f->field = value.getValue();
      } else if (auto *n = llvm::find_if(kScheduleNumbers, [&](const ScheduleNumber &x) { return x.key == key; });
                 n != std::end(kScheduleNumbers)) {
        auto value = dyn_cast<IntegerAttr>(entry.getValue());
        if (!value || value.getInt() < n->least || value.getInt() > n->most) {
          std::string numbers = ("a whole number from " + Twine(n->least) + " to " + Twine(n->most)).str();
          auto quoted = dyn_cast<StringAttr>(entry.getValue());
          int64_t given = 0;
          bool isNumber = quoted && !quoted.getValue().getAsInteger(10, given);
          return wrong(isNumber ? numbers + ", without quotes" : numbers);
        }
        l.*n->field = value.getInt();
        isBounded |= key == "min_blocks";
      } else {
        return reportUnknownKey(kernel, l.name, key);
      }
    }
  }
  // The plan's own bound on registers is for its results of a thread; more of them would spill.
  if (!isBounded && resultsPerWarp(l) > planned)
    l.minBlocks = 1;
  return success();
}

std::optional<Unit> getScheduledUnit(KernelOp kernel, StringRef target, StringRef launch) {
  std::optional<Unit> unit;
  for (DictionaryAttr record : recordsOf(kernel))
    if (record && textOf(record, "launch") == launch && llvm::is_contained({StringRef(), target}, textOf(record, "target")))
      if (std::optional<Unit> given = findUnit(textOf(record, "unit")))
        unit = given;
  return unit;
}

bool isInSchedule(KernelOp kernel, StringRef target, StringRef launch, StringRef key) {
  return llvm::any_of(recordsOf(kernel), [&](DictionaryAttr record) {
    return record && textOf(record, "launch") == launch && llvm::is_contained({StringRef(), target}, textOf(record, "target")) &&
           record.contains(key);
  });
}

llvm::BitVector findUntiled(KernelOp kernel, const LaunchPlan &l) {
  llvm::BitVector untiled(l.indices.size());
  SmallVector<Operation *> ops = getDomainOps(kernel);
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (auto reduce = dyn_cast<ReduceOp>(ops[ordinal]))
      if (auto c = findGeneralContraction(reduce))
        for (unsigned d : llvm::concat<unsigned>(c->batch, c->scaledK, c->ownK))
          untiled.set(unsigned(l.dims[n][d]));
  return untiled;
}

FailureOr<KernelSchedule> getKernelSchedule(KernelOp kernel, StringRef target) {
  KernelSchedule schedule;
  for (DictionaryAttr record : recordsOf(kernel)) {
    if (!record || record.contains("launch"))
      continue; // a launch's, or te-plan's to complain about
    StringRef wanted = textOf(record, "target");
    bool applies = wanted.empty() || wanted == target;
    for (NamedAttribute entry : record) {
      StringRef key = entry.getName().getValue();
      if (key == "target")
        continue;
      auto text = dyn_cast<StringAttr>(entry.getValue());
      StringRef value = text ? text.getValue() : StringRef();
      if (key == "copies") {
        if (value != "always" && value != "never")
          return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), "", {key})) << "schedule: 'copies' must be always or never";
        if (applies)
          schedule.copies = value == "always" ? Copies::Always : Copies::Never;
      } else if (key == "merge") {
        if (value != "launch" && value != "cluster" && value != "memory")
          return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), "", {key}))
                 << "schedule: 'merge' must be launch, cluster or memory";
        if (applies) {
          schedule.merge = value == "launch" ? Merge::Launch : value == "cluster" ? Merge::Cluster : Merge::WhereItPays;
          schedule.addsInMemory = value == "memory";
        }
      } else if (key == "parts") {
        auto number = dyn_cast<IntegerAttr>(entry.getValue());
        if (!number || number.getInt() < 1 || number.getInt() > 1 << 16)
          return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), "", {key}))
                 << "schedule: 'parts' must be a whole number from 1 to 65536";
        if (applies)
          schedule.parts = number.getInt();
      } else {
        StringRef result =
            kernel.getOutNames().empty() ? "NAME" : cast<StringAttr>(kernel.getOutNames()[0]).getValue(); // most launches' name
        return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), "", {key}, /*isName=*/true))
               << "schedule: a record without a launch has copies, merge and parts, not '" << key << "'; of a launch it is said in 'launch "
               << result << " { .. }', or beside '\"launch\": \"" << result << "\"' in a file";
      }
    }
  }
  return schedule;
}

bool schedulesProducts(KernelOp kernel) {
  return llvm::any_of(recordsOf(kernel), [](DictionaryAttr record) {
    auto stages = record ? record.getAs<IntegerAttr>("stages") : IntegerAttr();
    std::optional<Unit> unit = record ? findUnit(textOf(record, "unit")) : std::nullopt;
    return (unit && isMatrixUnit(*unit)) || (stages && stages.getInt() > 1);
  });
}

LogicalResult checkScheduledLaunches(KernelOp kernel, const KernelPlan &plan) {
  SmallVector<StringRef> names;
  for (const LaunchPlan &l : plan.launches)
    names.push_back(l.name);
  for (DictionaryAttr record : recordsOf(kernel))
    if (record && record.contains("launch") && !llvm::is_contained(names, textOf(record, "launch")))
      return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), textOf(record, "launch"), {"launch"}))
             << "the schedule names launch '" << textOf(record, "launch") << "'; the kernel has '" << llvm::join(names, "', '") << "'";
  return success();
}

} // namespace kernelc::te

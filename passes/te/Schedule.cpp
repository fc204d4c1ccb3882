#include "passes/te/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

constexpr llvm::StringLiteral kAttr = "schedule";

/// The records of the attribute; null entries for what is no dictionary.
SmallVector<DictionaryAttr> recordsOf(KernelOp kernel) {
  SmallVector<DictionaryAttr> out;
  if (auto list = kernel->getAttrOfType<ArrayAttr>(kAttr))
    for (Attribute a : list)
      out.push_back(dyn_cast<DictionaryAttr>(a));
  return out;
}

StringRef textOf(DictionaryAttr record, StringRef key) {
  auto s = record.getAs<StringAttr>(key);
  return s ? s.getValue() : StringRef();
}

LogicalResult applyTiles(KernelOp kernel, DictionaryAttr tiles, LaunchPlan &l) {
  for (NamedAttribute t : tiles) {
    auto at = llvm::find(l.indices, t.getName().getValue());
    auto size = dyn_cast<IntegerAttr>(t.getValue());
    if (at == l.indices.end())
      return kernel.emitError() << "schedule of launch '" << l.name << "': there is no index '" << t.getName().getValue()
                                << "'; it has " << llvm::join(l.indices, ", ");
    if (!size || size.getInt() <= 0 || (size.getInt() & (size.getInt() - 1)))
      return kernel.emitError() << "schedule of launch '" << l.name << "': the tile of '" << *at << "' must be a power of two";
    l.tiles[at - l.indices.begin()] = size.getInt();
  }
  return success();
}

} // namespace

LogicalResult applySchedule(KernelOp kernel, StringRef target, LaunchPlan &l) {
  struct Number {
    StringRef key;
    int64_t &field;
    int64_t least, most;
  };
  Number numbers[] = {{"warps", l.warps, 1, 32},           {"producer_warps", l.producerWarps, 0, 4}, {"stages", l.stages, 1, 64},
                      {"raster", l.raster, 1, 1 << 16},    {"min_blocks", l.minBlocks, 1, 32},
                      {"cluster", l.cluster, 1, 8}};
  struct Flag {
    StringRef key;
    bool &field;
  };
  Flag flags[] = {{"fill_late", l.fillLate}, {"persistent", l.persistent}, {"dependent", l.dependent}};
  for (DictionaryAttr record : recordsOf(kernel)) {
    if (!record)
      return kernel.emitError() << "'schedule' is a list of records";
    StringRef wanted = textOf(record, "target");
    if (textOf(record, "launch") != l.name || (!wanted.empty() && wanted != target))
      continue;
    for (NamedAttribute entry : record) {
      StringRef key = entry.getName().getValue();
      auto wrong = [&](const Twine &expected) {
        return kernel.emitError() << "schedule of launch '" << l.name << "': '" << key << "' must be " << expected;
      };
      if (key == "launch" || key == "target")
        continue;
      if (key == "tiles") {
        auto tiles = dyn_cast<DictionaryAttr>(entry.getValue());
        if (!tiles)
          return wrong("a tile size per index");
        if (failed(applyTiles(kernel, tiles, l)))
          return failure();
      } else if (key == "unit") {
        auto unit = dyn_cast<StringAttr>(entry.getValue());
        if (!unit || !llvm::is_contained({"simt", "mma", "wgmma"}, unit.getValue()))
          return wrong("simt, mma or wgmma");
        l.unit = unit.getValue().str();
      } else if (auto *f = llvm::find_if(flags, [&](const Flag &x) { return x.key == key; }); f != std::end(flags)) {
        auto value = dyn_cast<BoolAttr>(entry.getValue());
        if (!value)
          return wrong("true or false");
        f->field = value.getValue();
      } else if (auto *n = llvm::find_if(numbers, [&](const Number &x) { return x.key == key; }); n != std::end(numbers)) {
        auto value = dyn_cast<IntegerAttr>(entry.getValue());
        if (!value || value.getInt() < n->least || value.getInt() > n->most)
          return wrong("from " + Twine(n->least) + " to " + Twine(n->most));
        n->field = value.getInt();
      } else {
        return kernel.emitError() << "schedule of launch '" << l.name << "': unknown key '" << key
                                  << "'; there are tiles, unit, fill_late, persistent, dependent, "
                                  << llvm::join(llvm::map_range(numbers, [](const Number &x) { return x.key; }), ", ");
      }
    }
  }
  return success();
}

LogicalResult checkScheduledLaunches(KernelOp kernel, const KernelPlan &plan) {
  SmallVector<StringRef> names;
  for (const LaunchPlan &l : plan.launches)
    names.push_back(l.name);
  for (DictionaryAttr record : recordsOf(kernel))
    if (record && !llvm::is_contained(names, textOf(record, "launch")))
      return kernel.emitError() << "the schedule names launch '" << textOf(record, "launch") << "'; the kernel has " << llvm::join(names, ", ");
  return success();
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Legality.h"

#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Accumulator.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/Sharing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace kernelc::te {
namespace {

using Ops = ArrayRef<Operation *>;

bool isPower(int64_t n) { return (n & (n - 1)) == 0; }
bool sharesReduction(const LaunchPlan &l) { return l.cluster > 1 && !l.indices.empty() && !llvm::is_contained(l.grid, l.clusterIndex); }

/// Whether `index` is all that a product on CUDA cores has of its rows, or columns, in a tile.
bool isSideOfCores(const LaunchPlan &l, Ops ops, int64_t index) {
  auto isAlone = [&](const SmallVector<int64_t> &dims, ArrayRef<unsigned> side) {
    bool has = llvm::any_of(side, [&](unsigned d) { return dims[d] == index; });
    return has && llvm::all_of(side, [&](unsigned d) { return dims[d] == index || l.tiles[dims[d]] == 1; });
  };
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (auto reduce = dyn_cast<ReduceOp>(ops[ordinal]); reduce && l.unit == Unit::Simt)
      if (std::optional<Contraction> c = findGeneralContraction(reduce); c && (isAlone(l.dims[n], c->m) || isAlone(l.dims[n], c->n)))
        return true;
  return false;
}
/// Whether each thread has results of its own, and a round all terms along `index`: the taps of a window.
bool isTaps(const LaunchPlan &l, int64_t index) {
  Count results = 1;
  for (int64_t i : l.grid)
    results *= l.tiles[i];
  return l.unit == Unit::Simt && !llvm::is_contained(l.grid, index) && l.tiles[index] > 0 && l.tiles[index] <= kMostTaps &&
         results >= Count(32 * l.warps);
}
bool isTile(const LaunchPlan &l, Ops ops, size_t index) {
  return isColumns(l.unit, l.tiles[index]) || (tile::isCoresSide(l.tiles[index]) && isSideOfCores(l, ops, int64_t(index))) ||
         isTaps(l, int64_t(index));
}

/// Numbers stay when a rule goes: 1 was that units have names, which reading a record asks now.
const PlanRule kRules[] = {
    {{2, "tiles",
      "A tile size is a power of two, of the unit wgmma a multiple of 8, on CUDA cores 24, 48 or 96 of a side or up to 15 terms, too."},
     [](KernelOp, const LaunchPlan &l, Ops ops) -> std::string {
       for (size_t index = 0; index < l.tiles.size(); ++index)
         if (!isTile(l, ops, index))
           return llvm::formatv(
               "tile size {0} is not a power of two (nor a multiple of 8, as columns of the unit wgmma may be, nor 24, 48 or "
               "96, as one index of rows or columns on CUDA cores may be, nor up to 15, as terms may be that one thread sums there)",
               l.tiles[index]);
       return "";
     }},
    {{3, "warps", "Warps are a power of two, or the 12 of three warpgroups beside producer warps."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       if (isPower(l.warps) || (l.unit == Unit::Wgmma && l.producerWarps && l.warps == 12))
         return "";
       return llvm::formatv("{0} warps; they are a power of two, or the 12 of three warpgroups of the unit wgmma beside producer warps",
                            l.warps);
     }},
    {{4, "cluster", "A cluster lies along an index of the launch."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       bool isThere = l.clusterIndex >= 0 && l.clusterIndex < int64_t(std::max<size_t>(1, l.indices.size()));
       return isThere ? "" : "a cluster along an index that is not there";
     }},
    {{5, "cluster", "The blocks of a cluster share out what all statements of the launch let them."},
     [](KernelOp kernel, const LaunchPlan &l, Ops ops) -> std::string {
       std::string why = sharesReduction(l) ? whyNotShared(kernel, l, l.clusterIndex, ops) : "";
       return why.empty() ? "" : "the blocks of a cluster cannot share '" + l.indices[l.clusterIndex] + "' out: " + why;
     }},
    {{6, "cluster", "A cluster that shares a reduction out has a power of two of blocks."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       if (!sharesReduction(l) || isPower(l.cluster))
         return "";
       return llvm::formatv("a cluster of {0} blocks; it is a power of two", l.cluster);
     }},
    {{7, "cluster", "Other clusters share what producer warps load."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       if (l.cluster == 1 || sharesReduction(l) || l.producerWarps)
         return "";
       return llvm::formatv("a cluster of {0} blocks shares what producer warps load of a product, and there are none", l.cluster);
     }},
    {{8, "pingpong", "Teams take tiles of the grid, which producer warps load."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       if (l.pingpong == 1 || (l.producerWarps && !l.grid.empty()))
         return "";
       return llvm::formatv("pingpong {0}: teams take tiles of the grid in turns, which producer warps load for them", l.pingpong);
     }},
    {{9, "warps", "A block has 32 warps at most."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       int64_t all = l.warps * l.pingpong + l.producerWarps;
       return all <= 32 ? std::string() : llvm::formatv("{0} warps; a block has 32", all).str();
     }},
    {{10, "part", "Parts of an epilogue have a power of two of columns, or of the unit wgmma a multiple of 8."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       return isColumns(l.unit, l.part)
                  ? std::string()
                  : llvm::formatv("parts of {0} columns; they are powers of two (or multiples of 8 of the unit wgmma's)", l.part).str();
     }},
    {{11, "producer_registers", "Threads that fill keep a multiple of 8 registers, 24 at least."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       if (!l.producerRegisters || (l.producerRegisters >= 24 && l.producerRegisters % 8 == 0))
         return "";
       return llvm::formatv("{0} registers of a thread that fills; warps give back all but a multiple of 8, 24 at least",
                            l.producerRegisters);
     }},
    {{12, "producer_warps", "With producer warps all roles are whole warpgroups."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       if (!l.producerWarps || (l.warps % 4 == 0 && l.producerWarps % 4 == 0))
         return "";
       return llvm::formatv("with producer warps roles are whole warpgroups, of 4 warps each, not {0} and {1} warps", l.warps,
                            l.producerWarps);
     }},
    {{13, "unroll", "Loops that a schedule unrolls are walked, and do not wait for copies."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       for (auto [index, rounds] : llvm::enumerate(l.unroll)) {
         if (!rounds)
           continue;
         if (llvm::is_contained(l.grid, int64_t(index)))
           return "'" + l.indices[index] + "' is on the grid: a block has one tile of it, and no loop over them";
         if (l.stages > 1 || l.producerWarps)
           return "rounds over '" + l.indices[index] + "' wait for copies into slots (stages, producer warps), and are not unrolled";
       }
       return "";
     }},
    {{14, "paired", "Pairs of tiles are taken by blocks that stay, each alone."},
     [](KernelOp, const LaunchPlan &l, Ops) -> std::string {
       bool fits = l.persistent && l.cluster == 1 && l.pingpong == 1 && !l.rotate && llvm::is_contained(l.grid, l.clusterIndex);
       return !l.paired || fits ? ""
                                : "pairs of tiles along an index of the grid need persistent blocks without a cluster, teams or 'rotate'";
     }},
};

} // namespace

LogicalResult checkRecord(KernelOp kernel, const LaunchPlan &l, Ops ops) {
  auto wrong = [&](ArrayRef<StringRef> keys) {
    return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), l.name, keys)) << "schedule of launch '" << l.name << "': ";
  };
  for (const ScheduleNumber &n : kScheduleNumbers)
    if (l.*n.field < n.least || l.*n.field > n.most)
      return wrong({n.key}) << "'" << n.key << "' must be a whole number from " << n.least << " to " << n.most << ", not " << l.*n.field;
  for (const PlanRule &rule : kRules)
    if (std::string why = rule.broken(kernel, l, ops); !why.empty()) {
      SmallVector<StringRef> keys{rule.says.key};
      for (auto [n, index] : llvm::enumerate(l.indices)) // of tiles the one that the rule speaks of
        if (keys.size() == 1 && rule.says.key == StringRef("tiles") && !isTile(l, ops, n))
          keys.push_back(index);
      return wrong(keys) << why;
    }
  return success();
}

} // namespace kernelc::te

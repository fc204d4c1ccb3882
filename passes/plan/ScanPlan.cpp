// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of scans, which a block walks from end to end.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/AccessSummary.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

int64_t Scheduler::roundsAhead(const LaunchPlan &l, int64_t along) {
  int64_t elements = 1, perRound = 0;
  for (int64_t tile : l.tiles)
    elements *= tile;
  int64_t perThread = std::max<int64_t>(1, elements / (l.warps * 32));
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
    ops_[ordinal]->walk([&, dims = ArrayRef<int64_t>(dims)](ReadOp read) {
      if (!isa<BlockArgument>(read.getTensor())) // of this launch's own results
        return;
      int64_t own = 1;
      bool changes = false;
      for (unsigned d : findSupport(read, unsigned(dims.size())).set_bits()) {
        own *= l.tiles[dims[d]];
        changes |= dims[d] == along;
      }
      perRound += changes ? std::min(own, perThread) : 0;
    });
  return perRound
             ? std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(costs_.scans.registersAhead / perRound))), 0, costs_.scans.mostAhead)
             : 0;
}

void Scheduler::scheduleScan(LaunchPlan &l) {
  AccessSummary s = summarizeAccesses(l, ops_, facts_);
  int64_t along = *findScannedIndex(l, ops_), contiguous = s.contiguousIndex();
  l.clusterIndex = along;
  int64_t components = 1; // of the states that a thread has of each element
  bool inOrder = false;
  for (int64_t ordinal : l.ops)
    if (auto fold = dyn_cast<FoldOp>(ops_[ordinal])) {
      components = std::max<int64_t>(components, fold.getNumComponents());
      inOrder |= !fold.getMonoid();
    }
  if (inOrder || findInTile(l).any()) { // (a thread has several states as it is)
    schedulePointByPoint(l, contiguous);
    l.ahead = roundsAhead(l, along);
    return;
  }
  if (contiguous >= 0 && contiguous != along) {
    // Columns: a thread has one, or a vector of them, and no one waits for another.
    constexpr int64_t kWarp = 32;
    l.warps = 1;
    l.tiles[contiguous] = clampTile(l, contiguous, kWarp);
    l.tiles[along] = clampTile(l, along, std::max<int64_t>(1, int64_t(llvm::bit_floor(uint64_t(costs_.scans.columnRounds / components)))));
    return;
  }
  constexpr int64_t kLeastThreads = 32;
  const int64_t most = costs_.scans.threads;
  const int64_t perThread = std::max<int64_t>(1, int64_t(llvm::bit_floor(uint64_t(costs_.scans.perThread / components))));
  l.tiles[along] = clampTile(l, along, most * perThread);
  int64_t threads = std::clamp<int64_t>(l.tiles[along] / perThread, kLeastThreads, most);
  l.warps = threads / 32;
  // Short rows: several to a block.
  int64_t rows = threads * perThread / l.tiles[along];
  for (int64_t index : llvm::reverse(l.grid)) {
    l.tiles[index] = clampTile(l, index, rows);
    rows /= l.tiles[index];
  }
}

} // namespace kernelc::te

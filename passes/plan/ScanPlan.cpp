// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of scans, which a block walks from end to end.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/plan/AccessSummary.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

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
  if (inOrder || findInTile(l).any()) // (a thread has several states as it is)
    return schedulePointByPoint(l, contiguous);
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

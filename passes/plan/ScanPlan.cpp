// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of scans, which a block walks from end to end.
#include "passes/plan/Scheduler.h"

#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/LongScans.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

int64_t Scheduler::roundsAhead(const LaunchPlan &l, int64_t along) {
  constexpr int64_t kVector = 4;
  llvm::BitVector inTile = findInTile(l);
  int64_t elements = 1, side = 1, perRound = 0;
  for (auto [index, tile] : llvm::enumerate(l.tiles)) {
    elements *= tile;
    side *= inTile[unsigned(index)] ? tile : 1;
  }
  // A thread has a vector of what is summed beside the scan, of as many rows as it takes.
  int64_t vector = std::min(side, kVector), rows = std::max<int64_t>(1, elements / (l.warps * 32) / vector);
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
    ops_[ordinal]->walk([&, dims = ArrayRef<int64_t>(dims)](ReadOp read) {
      if (!isa<BlockArgument>(read.getTensor())) // of this launch's own results
        return;
      bool changes = false, isSide = false, isRow = false;
      for (unsigned d : findSupport(read, unsigned(dims.size())).set_bits()) {
        changes |= dims[d] == along;
        isSide |= inTile[unsigned(dims[d])];
        isRow |= dims[d] != along && !inTile[unsigned(dims[d])] && l.tiles[dims[d]] > 1;
      }
      perRound += changes ? (isSide ? vector : 1) * (isRow ? rows : 1) : 0;
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
  bool isLong = llvm::all_of(llvm::seq<size_t>(0, l.ops.size()), [&](size_t n) {
    std::optional<Scan> scan = findScanOf(ops_[l.ops[n]]);
    return scan ? looksBack(ops_[l.ops[n]], *scan, expected_, target_) : !isReducedOver(l, n, ops_, along); // (a block has its whole row)
  });
  if (!isLong && contiguous >= 0 && contiguous != along) {
    // Columns: a thread has one, or a vector of them, and no one waits for another.
    constexpr int64_t kWarp = 32;
    l.warps = 1;
    l.tiles[contiguous] = clampTile(l, contiguous, kWarp);
    l.tiles[along] = clampTile(l, along, std::max<int64_t>(1, int64_t(llvm::bit_floor(uint64_t(costs_.scans.columnRounds / components)))));
    return;
  }
  if (isLong) {        // a tile a block: neighbours on the grid have other rows, so that a tile seldom waits for those before it
    int64_t words = 1; // of an element's states, in registers
    for (int64_t ordinal : l.ops)
      if (findScanOf(ops_[ordinal]))
        words = std::max(words, wordsOfState(ops_[ordinal]));
    int64_t perThread = std::max<int64_t>(1, int64_t(llvm::bit_floor(uint64_t(costs_.scans.perThreadBehind / words))));
    l.tiles[along] = clampTile(l, along, costs_.scans.threadsBehind * perThread);
    l.warps = costs_.scans.threadsBehind / 32;
    // While a tile waits for those before it, others load. Its elements wait in shared memory, or a thread has a register for each of
    // them and one beside it. (Not of states of several words, several statements and tiles with masks, which hold more.)
    if (l.ops.size() == 1 && words == 1 && hasWholeTiles(l, along))
      l.minBlocks = std::max<int64_t>(1, target_.registersPerSm / (2 * costs_.scans.perThreadBehind * costs_.scans.threadsBehind));
    if (int64_t held = blocksThatHold(l, ops_, along, facts_, target_))
      l.minBlocks = held;
    l.grid.insert(l.grid.begin(), along);
    return;
  }
  constexpr int64_t kLeastThreads = 32;
  // Rows that vectors do not fit: smaller blocks, more of which are beside each other (2048 × 32767 of f32: 1.9 times as fast).
  const int64_t most = s.byElements[along] ? costs_.scans.threadsBehind : costs_.scans.threads;
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

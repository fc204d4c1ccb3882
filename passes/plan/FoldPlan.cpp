// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of folds: reductions by a program's own reducer, and recurrences.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/plan/AccessSummary.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

void Scheduler::schedulePointByPoint(LaunchPlan &l, int64_t contiguous) {
  constexpr int64_t kWarp = 32;
  Count results = 1;
  for (int64_t g : l.grid)
    results = extentMax(l, g) < 0 ? Count(std::numeric_limits<int32_t>::max()) : results * extentMax(l, g);
  l.warps = 1;
  while (l.warps < costs_.folds.mostWarps && results >= 2 * l.warps * kWarp * target_.smCount)
    l.warps *= 2;
  // What is reduced beside a scan is all in one tile: a thread has several states then, as many as leave the device enough threads.
  llvm::BitVector inTile = findInTile(l);
  if (inTile.any())
    l.warps = std::min(l.warps, costs_.folds.mostWarpsOfStates);
  int64_t left = l.warps * kWarp;
  if (inTile.any())
    left *= std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(int64_t(results) / (costs_.folds.threadsOfStates * target_.smCount) + 1))),
                                1, costs_.folds.mostStates);
  for (unsigned index : inTile.set_bits()) {
    l.tiles[index] = clampTile(l, index, std::numeric_limits<int32_t>::max());
    left = std::max<int64_t>(1, left / l.tiles[index]);
  }
  if (llvm::is_contained(l.grid, contiguous) && !inTile[unsigned(contiguous)]) {
    l.tiles[contiguous] = clampTile(l, contiguous, left);
    left /= l.tiles[contiguous];
  }
  for (int64_t index : llvm::reverse(l.grid))
    if (index != contiguous && left > 1 && !inTile[unsigned(index)]) {
      l.tiles[index] = clampTile(l, index, left);
      left /= l.tiles[index];
    }
}

void Scheduler::scheduleFold(LaunchPlan &l, FoldOp op) {
  if (findScannedIndex(l, ops_))
    return scheduleScan(l);
  AccessSummary s = summarizeAccesses(l, ops_, facts_);
  int64_t contiguous = s.contiguousIndex();
  SmallVector<int64_t> reduced;
  for (int64_t i = 0; i < int64_t(l.indices.size()); ++i)
    if (!llvm::is_contained(l.grid, i))
      reduced.push_back(i);
  // Results side by side in memory, enough for all threads: each has its own.
  constexpr int64_t kWarp = 32;
  const int64_t threads = costs_.folds.threads;
  Count results = 1;
  for (int64_t g : l.grid)
    results = extentMax(l, g) < 0 ? Count(std::numeric_limits<int32_t>::max()) : results * extentMax(l, g);
  bool isRow = contiguous < 0 || !llvm::is_contained(l.grid, contiguous);
  if (!op.getCommutative() || reduced.empty() || (!isRow && results >= costs_.folds.threadsAlone * target_.smCount))
    return schedulePointByPoint(l, contiguous);
  // A thread has so many states as leave registers for loads on their way.
  int64_t perThread = std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(costs_.folds.states / op.getNumComponents() + 1))), 1,
                                          costs_.folds.mostPerThread);
  l.warps = threads / kWarp;
  if (!isRow) {
    l.tiles[contiguous] = clampTile(l, contiguous, kWarp);
    l.tiles[reduced.back()] = clampTile(l, reduced.back(), threads * perThread / l.tiles[contiguous]);
    return;
  }
  int64_t row = llvm::is_contained(reduced, contiguous) ? contiguous : reduced.back();
  l.tiles[row] = clampTile(l, row, threads * perThread);
  // Short rows: several to a block.
  int64_t rows = threads * perThread / l.tiles[row] / 2;
  for (int64_t index : llvm::reverse(l.grid))
    if (rows > 1) {
      l.tiles[index] = clampTile(l, index, rows);
      rows /= l.tiles[index];
    }
  int64_t held = l.tiles[row];
  for (int64_t index : l.grid)
    held *= l.tiles[index];
  l.warps = std::clamp<int64_t>(held / (kWarp * perThread), 1, threads / kWarp);
}

} // namespace kernelc::te

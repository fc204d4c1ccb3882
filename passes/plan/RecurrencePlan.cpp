// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of recurrences whose points have an order: a block walks the steps of its systems.
#include "passes/plan/Scheduler.h"

using namespace mlir;

namespace kernelc::te {

void Scheduler::scheduleRecurrence(LaunchPlan &l, RecurrenceOp op) {
  constexpr int64_t kWarp = 32;
  ArrayRef<int64_t> dims = l.dims.front();
  ArrayRef<int64_t> free = dims.take_front(op.getFree()), beside = dims.slice(free.size() + 1, op.getNumParallel() - free.size() - 1);
  int64_t contiguous = summarizeAccesses(l, ops_, facts_).contiguousIndex(), left = costs_.folds.threads;
  // Neighbours in memory first, then as the text has them, the last first.
  auto spread = [&](ArrayRef<int64_t> list) {
    SmallVector<int64_t> order(llvm::reverse(list));
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return a == contiguous && b != contiguous; });
    for (int64_t index : order) {
      l.tiles[index] = clampTile(l, index, left);
      left = std::max<int64_t>(1, left / l.tiles[index]);
    }
  };
  Count systems = 1;
  for (int64_t index : free)
    systems *= extentMax(l, index) < 0 ? Count(std::numeric_limits<int32_t>::max()) : Count(extentMax(l, index));
  // Systems that fill the device have a thread for each point; of fewer ones a block's threads share the sums out.
  bool areMany = systems >= Count(kWarp * target_.smCount);
  if (areMany) {
    left = kWarp;
    spread(free);
    left = std::max(left, costs_.folds.threads / kWarp);
  }
  spread(beside);
  int64_t threads = 1, most = 1;
  for (int64_t index : dims.take_front(op.getNumParallel()))
    threads *= l.tiles[index];
  for (unsigned k = 0; k < op.getNumTerms() && threads < kWarp; ++k) {
    SmallVector<int64_t> reduced;
    for (unsigned d : op.getReducedDims(k))
      reduced.push_back(dims[d]);
    left = costs_.folds.threads / threads;
    spread(reduced);
    most = std::max(most, costs_.folds.threads / threads / left);
  }
  l.warps = std::clamp<int64_t>(threads * most / kWarp, 1, costs_.folds.threads / kWarp);
}

} // namespace kernelc::te

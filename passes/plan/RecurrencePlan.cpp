// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of recurrences whose points have an order: a block walks the steps of its systems.
#include "passes/plan/Scheduler.h"

#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace kernelc::te {

/// Whether what every step of `op` reads anew for its sums, of all its systems, runs along what is summed.
static bool sumsRunAlong(RecurrenceOp op) {
  bool any = false;
  for (unsigned k = 0; k < op.getNumTerms(); ++k)
    op.getTerms()[k].walk([&](ReadOp read) {
      llvm::BitVector support = findSupport(read.getResult(), op.getNumDims());
      int first = support.find_first();
      any |= first > int(op.getFree()) && runsAlong(read, op.getReducedDims(k)); // (neither a system's nor a step's)
    });
  return any;
}

void Scheduler::scheduleRecurrence(LaunchPlan &l, RecurrenceOp op) {
  constexpr int64_t kWarp = 32;
  ArrayRef<int64_t> dims = l.dims.front(), points = dims.take_front(op.getNumParallel());
  ArrayRef<int64_t> free = points.take_front(op.getFree()), beside = points.drop_front(op.getFree() + 1);
  int64_t contiguous = summarizeAccesses(l, ops_, facts_).contiguousIndex();
  // Of `most` points in all: neighbours in memory first, then as the text has them, the last first. How many the tiles have.
  auto spread = [&](ArrayRef<int64_t> list, int64_t most) {
    SmallVector<int64_t> order(llvm::reverse(list));
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return a == contiguous && b != contiguous; });
    int64_t all = 1;
    for (int64_t index : order) {
      l.tiles[index] = clampTile(l, index, std::max<int64_t>(1, most / all));
      all *= l.tiles[index];
    }
    return all;
  };
  Count systems = 1;
  for (int64_t index : free)
    systems *= extentMax(l, index) < 0 ? Count(std::numeric_limits<int32_t>::max()) : Count(extentMax(l, index));
  // A block has as many systems as leave the device full, side by side; its other threads share steps and sums out.
  // Where sums run along memory, a round brings vectors of what all threads need, and waits for L2 and for them once: the more points, the
  // better, and those of a step first (docs/lab/2026-11-28-planner-14.md).
  int64_t left = costs_.folds.threads * (sumsRunAlong(op) ? 2 * costs_.folds.states : costs_.folds.mostPerThread);
  int64_t all = spread(free, std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(int64_t(systems) / target_.smCount))), 1, kWarp));
  bool sumsAlong = contiguous >= 0 && !llvm::is_contained(points, contiguous);
  all *= spread(beside, left / all / (sumsAlong ? kWarp : 1));
  int64_t most = 1; // points of a sum
  for (unsigned k = 0; k < op.getNumTerms(); ++k)
    most = std::max(most, spread(llvm::map_to_vector(op.getReducedDims(k), [&](unsigned d) { return dims[d]; }), left / all));
  l.warps = std::clamp<int64_t>(all * most / kWarp, 1, costs_.folds.threads / kWarp);
  l.ahead = stepsAhead(l, op);
}

int64_t Scheduler::stepsAhead(const LaunchPlan &l, RecurrenceOp op) {
  // What steps read that none of them defines, in registers of a thread.
  ArrayRef<int64_t> dims = l.dims.front();
  Count perStep = 0;
  op->walk([&](ReadOp read) {
    llvm::BitVector support = findSupport(read.getResult(), unsigned(dims.size()));
    if (!isa<BlockArgument>(read.getTensor()) || read.getTensor().getParentRegion() != op->getParentRegion() || !support[op.getFree()])
      return;
    Count elements = 1;
    for (unsigned d : support.set_bits())
      elements *= l.tiles[dims[d]];
    perStep = perStep + ceilDiv(elements, Count(l.warps * 32));
  });
  int64_t registers = int64_t(perStep), most = registers ? costs_.scans.registersAhead / registers : 0;
  return most ? std::min<int64_t>(int64_t(llvm::bit_floor(uint64_t(most))), costs_.folds.mostAhead) : 0;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles of launches that scatter, and whether blocks combine few elements in shared memory first.
#include "passes/plan/Grouper.h"
#include "passes/plan/Scheduler.h"

#include "ir/te/Faults.h"
#include "ir/te/TeShape.h"
#include "passes/plan/AccessSummary.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

static int64_t bytesOfElement(ScatterOp op) { return op.getResult().getType().getElementTypeBitWidth() / 8; }

static int64_t elementsOf(ScatterOp op, const SizeFacts &facts) {
  return knownPoints(op.getShape(), llvm::seq<unsigned>(0, op.getShape().getNumResults()), facts);
}

bool meetsInFew(ScatterOp op, const SizeFacts &facts, const SizeFacts &likely, const ScatterCosts &costs) {
  int64_t elements = elementsOf(op, facts);
  bool isRecord = !te::getFaults(op->getParentOfType<KernelOp>()).empty() && op.getName() == kRecord;
  if (isRecord || op.isUnique() || (op.hasOrder() && !op.getAnyOrder()) || elements < 1 || elements > costs.tallyBytes / bytesOfElement(op))
    return false;
  int64_t points = knownPoints(op.getExtents(), llvm::seq<unsigned>(0, op.getNumDims()), likely);
  return points < 0 || points >= costs.pointsPerElement * elements;
}

void Scheduler::scheduleScatter(LaunchPlan &l, ScatterOp op) {
  scheduleElementwise(l);
  if (!meetsInFew(op, facts_, likely_, costs_.scatters))
    return;
  int64_t bytes = bytesOfElement(op), elements = elementsOf(op, facts_);
  // One block a multiprocessor walks tiles: the fewer blocks, the fewer copies reach memory. Warps that share a copy meet in it.
  int64_t warps = 32;
  for (int64_t index : llvm::reverse(l.grid))
    if (l.tiles[index] > 1) {
      int64_t tile = clampTile(l, index, l.tiles[index] * warps / l.warps);
      warps = std::max<int64_t>(1, l.warps * tile / l.tiles[index]);
      l.tiles[index] = tile;
      break;
    }
  l.warps = std::min<int64_t>(warps, 32);
  l.persistent = true;
  l.tallies = std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(costs_.scatters.tallyBytes / (bytes * elements)))), 1, l.warps);
}

void Scheduler::schedulePoints(LaunchPlan &l) {
  l.warps = 8;
  int64_t left = l.warps * 32;
  for (int64_t index = int64_t(l.indices.size()) - 1; index >= 0; --index) {
    l.tiles[index] = clampTile(l, index, left);
    left /= l.tiles[index];
  }
}

} // namespace kernelc::te

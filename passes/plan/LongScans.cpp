// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/LongScans.h"

#include "ir/te/TeShape.h"
#include "ir/tile/Tile.h"
#include "passes/analysis/Contraction.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// Whether neighbours along the scan lie side by side in memory.
bool runsAlongMemory(Operation *r, const Scan &scan) {
  bool found = false;
  r->walk([&](ReadOp read) {
    AffineMap map = read.getMapOrIdentity();
    for (auto [i, v] : llvm::enumerate(read.getOperands_()))
      found |= map.getNumResults() && findIndex(r, v) == scan.reduced && linearCoefficient(map.getResults().back(), i) == 1;
  });
  return found;
}

} // namespace

int64_t chunkOf(Operation *r, const Scan &scan, const SizeFacts &facts, const Target &target) {
  constexpr int64_t kColumns = 32; // of a warp
  const ScanCosts &costs = target.costs->scans;
  // What knows no law runs in order; the steps of a recurrence from the end are none of its index's order.
  if (auto fold = dyn_cast<FoldOp>(r); fold && (!fold.getMonoid() || fold.getDescending()))
    return 0;
  AffineMap extents = getExtents(r);
  int64_t length = knownMax(extents.getResult(scan.along), facts);
  Count rows = 1;
  for (unsigned d = 0; d < scan.reduced; ++d)
    if (d != scan.along) {
      int64_t most = knownMax(extents.getResult(d), facts);
      if (most < 0)
        return 0;
      rows *= most;
    }
  if (length < 0)
    return 0;
  if (runsAlongMemory(r, scan) || rows == Count(1))
    return rows < Count(costs.rowBlocks * target.smCount) && length > costs.longestRow ? costs.row : 0;
  int64_t blocks = std::max<int64_t>(1, int64_t(rows) / kColumns), wanted = costs.columnBlocks * target.smCount;
  if (blocks * 2 > wanted || length < 4 * costs.leastColumn)
    return 0;
  int64_t chunk = int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(length, llvm::divideCeil(wanted, blocks)))));
  chunk = std::max(chunk, costs.leastColumn);
  return chunk * 2 <= length ? chunk : 0;
}

bool looksBack(Operation *r, const Scan &scan, const SizeFacts &facts, const Target &target) {
  if (!chunkOf(r, scan, facts, target))
    return false;
  auto fold = dyn_cast<FoldOp>(r);
  for (unsigned k = 0; k < (fold ? fold.getNumComponents() : 1); ++k)
    if (Type t = fold ? fold.getComponentType(k) : cast<RankedTensorType>(r->getResult(0).getType()).getElementType();
        !tile::LookBackOp::tells(t))
      return false;
  // What sums a thread's states of several rows at once has them walked (Scheduler::findInTile).
  auto isSummed = [](Operation *user) {
    while (user && !isDomainOp(user))
      user = user->getParentOp();
    return isa_and_nonnull<ReduceOp>(user);
  };
  if (fold && llvm::any_of(r->getUsers(), isSummed))
    return false;
  AffineMap extents = getExtents(r);
  bool isOneRow =
      llvm::all_of(llvm::seq(0u, scan.reduced), [&](unsigned d) { return d == scan.along || knownMax(extents.getResult(d), facts) == 1; });
  return runsAlongMemory(r, scan) || isOneRow;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans' launches, and what joins them.
#include "passes/plan/Grouper.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/LongScans.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {

void Grouper::startScan(int64_t i, const Scan &scan) {
  Operation *op = ops_[i];
  Group g;
  g.ops = {i};
  g.isReverse = scan.reverse;
  SmallVector<int64_t> dims(scan.reduced + 1, int64_t(scan.reduced) - 1);
  for (unsigned d = 0; d <= scan.reduced; ++d)
    if (d != scan.along && (d != scan.reduced))
      dims[d] = g.grid++;
  for (unsigned d = 0; d < scan.reduced; ++d)
    if (d != scan.along)
      addIndex(g, op, d);
  addIndex(g, op, scan.along);
  g.dims.push_back(std::move(dims));
  g.hasWalk = walksRows(op, scan);
  g.hasRows = holdsRows(op, scan);
  owner_[i] = groups_.size();
  groups_.push_back(std::move(g));
}

bool Grouper::walksRows(Operation *op, const Scan &scan) {
  auto fold = dyn_cast<FoldOp>(op);
  return (!fold || fold.getMonoid()) && knownMax(getExtents(op).getResult(scan.along), facts_) >= 0 &&
         !looksBack(op, scan, facts_, target_);
}

bool Grouper::holdsRows(Operation *op, const Scan &scan) {
  return walksRows(op, scan) && runsAlongMemory(op, scan) &&
         knownMax(getExtents(op).getResult(scan.along), facts_) <= longestHeldRow(op, target_.costs->scans);
}

bool Grouper::joinRows(int64_t i, int64_t candidate, ArrayRef<ReadOp> reads, const Scan &scan) {
  Operation *op = ops_[i];
  Group &g = groups_[candidate];
  const int64_t along = g.along();
  bool isOfRows = holdsRows(op, scan) && g.loops.empty() && g.whole.empty() && g.extents.size() == g.grid + 1 &&
                  getNumParallel(op) == g.grid + 1 && g.extents[along] == getExtents(op).getResult(scan.along) &&
                  llvm::all_of(llvm::seq<size_t>(0, g.ops.size()), [&](size_t n) {
                    auto reduce = dyn_cast<ReduceOp>(ops_[g.ops[n]]);
                    bool isSum = reduce && !findGeneralContraction(reduce) && reduce.getNumDims() == g.grid + 1 && isRowSum(g, g.ops[n]);
                    return isSum || (isa<ComputeOp>(ops_[g.ops[n]]) && hasAtOnce(g, ops_[g.ops[n]]));
                  });
  if (!isOfRows)
    return false;
  SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
  for (ReadOp read : reads) {
    int64_t producer = ordinal_[read.getTensor()];
    if (owner_[producer] == candidate && (read.getBounds() != BoundsMode::InBounds || !unify(op, read, g, producer, map)))
      return false;
  }
  for (unsigned d : {scan.along, scan.reduced})
    if (map[d] >= 0 && map[d] != along)
      return false;
  map[scan.along] = map[scan.reduced] = along;
  if (llvm::is_contained(map, -1))
    return false;
  g.isReverse = scan.reverse;
  g.hasWalk = g.hasRows = g.sumsRows = true;
  adopt(i, candidate, map);
  return true;
}

bool Grouper::isRowSum(const Group &g, int64_t producer) const {
  auto reduce = dyn_cast<ReduceOp>(ops_[producer]);
  ArrayRef<int64_t> dims = g.dims[llvm::find(g.ops, producer) - g.ops.begin()];
  return reduce && llvm::is_contained(dims.drop_front(reduce.getNumParallel()), g.along()) &&
         !llvm::is_contained(dims.take_front(reduce.getNumParallel()), g.along());
}

bool Grouper::canGoAlong(const Group &g, Operation *op) {
  if (std::optional<Scan> scan = findScanOf(op))
    return g.hasWalk && scan->reverse == *g.isReverse && walksRows(op, *scan);
  auto reduce = dyn_cast<ReduceOp>(op);
  return isa<ComputeOp>(op) || (reduce && !findGeneralContraction(reduce));
}

bool Grouper::joinScan(int64_t i, int64_t candidate, ArrayRef<ReadOp> reads) {
  Operation *op = ops_[i];
  Group &g = groups_[candidate];
  if (!canGoAlong(g, op))
    return false;
  SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
  bool waits = false; // for a sum over whole rows
  for (ReadOp read : reads) {
    int64_t producer = ordinal_[read.getTensor()];
    if (owner_[producer] != candidate)
      continue;
    auto compute = dyn_cast<ComputeOp>(ops_[producer]);
    if ((compute && (compute.getCondition() || compute.getYield().getCondition())) || read.getBounds() != BoundsMode::InBounds ||
        !unify(op, read, g, producer, map))
      return false;
    waits |= isRowSum(g, producer);
  }
  unsigned parallel = getNumParallel(op);
  if (std::optional<Scan> scan = findScanOf(op); scan && map[scan->reduced] == g.along() && map[scan->along] < 0)
    map[scan->along] = g.along();
  if (llvm::is_contained(map, -1))
    return false;
  bool isAlong = llvm::is_contained(map, g.along());
  if (waits && isAlong && !g.hasRows)
    return false;
  if (findScanOf(op))
    return llvm::all_of(llvm::seq<int64_t>(0, g.grid), [&](int64_t index) { return llvm::is_contained(map, index); }) &&
           (adopt(i, candidate, map), true);
  SmallVector<int64_t> reduced(map.begin() + parallel, map.end());
  bool sumsRows = g.hasWalk && g.inTile.empty() && reduced.size() == 1 && reduced.front() == g.along();
  auto reduce = dyn_cast<ReduceOp>(op);
  bool sumsBeside = !reduce || (isa<FoldOp>(ops_[g.ops.front()]) && !g.sumsRows && !reduce.isArg() && !reduce.getCondition() &&
                                !reduce.getYield().getCondition() && llvm::all_of(reduced, [&](int64_t index) {
                                  return index < int64_t(g.grid) && knownMax(g.extents[index], facts_) > 0 &&
                                         knownMax(g.extents[index], facts_) <= target_.costs->folds.largestInTile;
                                }));
  if (!sumsRows && !sumsBeside)
    return false;
  for (int64_t index = 0; index < int64_t(g.extents.size()); ++index)
    if (!llvm::is_contained(map, index) && !llvm::is_contained(g.inTile, index) && !(index == g.along() && g.sumsRows))
      return false;
  for (int64_t index : sumsRows ? SmallVector<int64_t>() : reduced)
    if (!llvm::is_contained(g.inTile, index))
      g.inTile.push_back(index);
  g.sumsRows |= sumsRows;
  adopt(i, candidate, map);
  return true;
}

bool Grouper::joinScanSibling(int64_t i, const Scan &scan) {
  Operation *op = ops_[i];
  startScan(i, scan);
  Group own = std::move(groups_.back());
  groups_.pop_back();
  for (auto [n, g] : llvm::enumerate(groups_)) {
    if (g.ops.size() >= kMostSiblings || g.isReverse != own.isReverse || g.extents != own.extents ||
        isa<FoldOp>(op) != isa<FoldOp>(ops_[g.ops.front()]) || !llvm::all_of(g.ops, [&](int64_t o) {
          bool readsAlike = readsOf(op).empty() || readsOf(ops_[o]).empty() || readsInCommon(op, ops_[o]); // (a count reads nothing)
          return !hasOwnLaunch(ops_[o]) && (findScanOf(ops_[o]) ? readsAlike : g.hasWalk && own.hasWalk);
        }))
      continue;
    g.ops.push_back(i);
    g.dims.push_back(own.dims.front());
    owner_[i] = n;
    return true;
  }
  owner_.erase(i);
  return false;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans' launches, and what joins them.
#include "passes/plan/Grouper.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
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
  owner_[i] = groups_.size();
  groups_.push_back(std::move(g));
}

bool Grouper::joinScan(int64_t i, int64_t candidate, ArrayRef<ReadOp> reads) {
  Operation *op = ops_[i];
  Group &g = groups_[candidate];
  SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
  auto reduce = dyn_cast<ReduceOp>(op);
  bool reduces =
      reduce && isa<FoldOp>(ops_[g.ops.front()]) && !reduce.isArg() && !reduce.getCondition() && !reduce.getYield().getCondition();
  if (!isa<ComputeOp>(op) && !reduces)
    return false;
  for (ReadOp read : reads) {
    int64_t producer = ordinal_[read.getTensor()];
    if (owner_[producer] != candidate)
      continue;
    auto compute = dyn_cast<ComputeOp>(ops_[producer]);
    if ((compute && (compute.getCondition() || compute.getYield().getCondition())) || read.getBounds() != BoundsMode::InBounds ||
        !unify(op, read, g, producer, map))
      return false;
  }
  if (llvm::is_contained(map, -1))
    return false;
  unsigned parallel = getNumParallel(op);
  SmallVector<int64_t> reduced(map.begin() + parallel, map.end());
  if (!llvm::all_of(reduced, [&](int64_t index) {
        return index < int64_t(g.grid) && knownMax(g.extents[index], facts_) > 0 &&
               knownMax(g.extents[index], facts_) <= target_.costs->folds.largestInTile;
      }))
    return false;
  for (int64_t index = 0; index < int64_t(g.extents.size()); ++index)
    if (!llvm::is_contained(map, index) && !llvm::is_contained(g.inTile, index))
      return false;
  for (int64_t index : reduced)
    if (!llvm::is_contained(g.inTile, index))
      g.inTile.push_back(index);
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
          return findScanOf(ops_[o]) && !hasOwnLaunch(ops_[o]) && readsAlike;
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles for reductions over pairs of points: distances, forces, ranks, overlaps. They read little memory, and each point that is read on
// one side is used with many on the other.
#include "passes/plan/Scheduler.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

/// Whether a statement reduces over exactly one index.
static bool reducesOne(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return getExtents(op).getNumResults() == getNumParallel(op) + 1 && !(reduce && (reduce.getInit() || reduce.getOutMap()));
}

/// The launch index that is the only one all reductions of the launch walk; -1 where there is none, or its rows stay in registers.
static int64_t findWalked(const LaunchPlan &l, ArrayRef<Operation *> ops) {
  int64_t walked = -1;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    if (!isa<ReduceOp, CascadeOp>(ops[ordinal]))
      continue;
    if (!reducesOne(ops[ordinal]) || (walked >= 0 && dims.back() != walked))
      return -1;
    walked = dims.back();
  }
  bool isHeld = llvm::any_of(llvm::zip(l.ops, l.dims), [&](auto member) {
    return !isa<ReduceOp, CascadeOp>(ops[std::get<0>(member)]) && llvm::is_contained(std::get<1>(member), walked);
  });
  return isHeld || llvm::is_contained(l.grid, walked) ? -1 : walked;
}

/// The reads that depend on the walked index.
struct WalkedReads {
  llvm::BitVector indices; ///< of the launch, of all of it
  int64_t reads = 0;       ///< elements of one walked point
};

/// Nothing where nothing is.
static std::optional<WalkedReads> readBeside(const LaunchPlan &l, int64_t walked, ArrayRef<Operation *> ops) {
  WalkedReads beside{llvm::BitVector(l.indices.size())};
  SmallVector<std::pair<Value, AffineMap>> elements;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
    ops[ordinal]->walk([&, &dims = dims](ReadOp read) {
      llvm::BitVector own(l.indices.size());
      for (unsigned d : findSupport(read.getResult(), dims.size()).set_bits())
        own.set(unsigned(dims[d]));
      if (own.test(unsigned(walked))) {
        beside.indices |= own;
        std::pair<Value, AffineMap> element{read.getTensor(), read.getMapOrIdentity()};
        if (!llvm::is_contained(elements, element))
          elements.push_back(element);
      }
    });
  beside.reads = int64_t(elements.size());
  return beside.reads > 0 ? std::optional(beside) : std::nullopt;
}

bool Scheduler::schedulePairs(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t contiguous) {
  const PairCosts &costs = costs_.pairs;
  int64_t walked = findWalked(l, ops_);
  std::optional<WalkedReads> beside = walked >= 0 ? readBeside(l, walked, ops_) : std::nullopt;
  if (!beside)
    return false;
  // Lanes lie along the longest index on which no read depends that also depends on the walked one.
  auto length = [&](int64_t index) { return extentMax(l, index) < 0 ? std::numeric_limits<int64_t>::max() : extentMax(l, index); };
  int64_t lanes = -1;
  for (int64_t index : l.grid)
    if (!beside->indices.test(unsigned(index)) && (lanes < 0 || length(index) >= length(lanes)) &&
        llvm::all_of(llvm::zip(l.ops, l.dims), [&](auto member) {
          return !isa<ReduceOp, CascadeOp>(ops_[std::get<0>(member)]) || llvm::is_contained(std::get<1>(member), index);
        }))
      lanes = index;
  if (lanes < 0 || length(lanes) < costs.fewestLanes || length(walked) < costs.fewestWalked)
    return false;
  if (lanes == contiguous && beside->reads == 1) // columns serve as many, in fewer rounds
    return false;
  for (int64_t index : inner)
    if (index != walked)
      l.tiles[index] = clampTile(l, index, costs.rows);
  l.tiles[lanes] = clampTile(l, lanes, costs.rows);
  l.warps = costs.warps;
  l.tiles[walked] = clampTile(l, walked, l.warps * 32 * (beside->reads == 1 ? costs.ofOne : costs.perThread) / l.tiles[lanes]);
  shareOut(l, walked, costs.blocks, /*across=*/true, /*sharedBytes=*/0, /*fills=*/true);
  return true;
}

} // namespace kernelc::te

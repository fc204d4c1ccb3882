// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles of reductions over segments, each of which begins and ends where data of its row says: rows of a sparse matrix by row
// pointers, points sorted by their rows.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "passes/index/TileCondition.h"
#include "passes/plan/AccessSummary.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

namespace {

/// What bounds the reduced index of reductions.
struct Segments {
  int64_t walked = -1;  ///< the index, in the launch
  llvm::BitVector rows; ///< those that say where it begins and ends, in the launch
};

/// Adds what the op says of its reduced index, if both of its ends depend on other indices, and one of them on data.
bool addSegments(Operation *op, ArrayRef<int64_t> dims, Segments &found) {
  unsigned walked = getNumParallel(op);
  if (dims.size() != walked + 1 || (found.walked >= 0 && found.walked != dims[walked]))
    return false;
  found.walked = dims[walked];
  bool begins = false, ends = false, isData = false;
  auto bounds = [&](const llvm::BitVector &by, bool isLow) {
    if (by.none() || by[walked])
      return false;
    (isLow ? begins : ends) = true;
    for (unsigned d : by.set_bits())
      found.rows.set(unsigned(dims[d]));
    return true;
  };
  Value condition = getYield(op).getCondition();
  for (Value part : condition ? splitConjuncts(condition) : SmallVector<Value>()) {
    std::optional<LinearBound> bound = findLinearBound(part);
    auto d = bound ? dyn_cast<AffineDimExpr>(bound->form) : AffineDimExpr(nullptr);
    if (d && d.getPosition() == walked && bound->relation != arith::CmpIPredicate::eq)
      isData |= bounds(findSupport(bound->bound, dims.size()),
                       bound->relation == arith::CmpIPredicate::sge || bound->relation == arith::CmpIPredicate::sgt);
  }
  if (std::optional<IntegerSet> set = getCondition(op))
    for (AffineExpr e : set->getConstraints())
      if (std::optional<int64_t> c = linearCoefficient(e, walked); c && *c != 0) {
        llvm::BitVector by(dims.size());
        collectDims(e, by);
        by.reset(walked);
        bounds(by, *c > 0);
      }
  return begins && ends && isData;
}

} // namespace

bool Scheduler::scheduleSegments(LaunchPlan &l) {
  Segments found{-1, llvm::BitVector(l.indices.size())};
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (isa<ReduceOp, CascadeOp>(ops_[ordinal]) && !addSegments(ops_[ordinal], l.dims[n], found))
      return false;
  auto [walked, rows] = found;
  if (walked < 0 || llvm::is_contained(l.grid, walked))
    return false;
  // A block walks one row's segment: of several it would walk all their points with each row.
  const SegmentCosts &costs = costs_.segments;
  AccessSummary s = summarizeAccesses(l, ops_, facts_);
  int64_t beside = -1; // the index that runs along memory, and is the same in all segments
  for (int64_t index : l.grid)
    if (!rows[index] && s.contiguousBytes[index] > 0 && (beside < 0 || s.contiguousBytes[index] > s.contiguousBytes[beside]))
      beside = index;
  int64_t vector = beside >= 0 ? s.longestVector() : 1, lanes = 1; // threads beside each other
  if (beside >= 0) {
    l.tiles[beside] = clampTile(l, beside, costs.threads * vector);
    lanes = std::max<int64_t>(1, l.tiles[beside] / vector);
  }
  // Points on their way: as many as a segment has on the average, where that is known.
  auto extent = [&](unsigned index) { return knownMax(l.extents.getResult(index), likely_); };
  Count segments = 1;
  bool isKnown = extent(unsigned(walked)) >= 0;
  for (unsigned index : rows.set_bits()) {
    isKnown &= extent(index) >= 0;
    segments *= std::max<int64_t>(1, extent(index));
  }
  int64_t average = isKnown ? int64_t(ceilDiv(Count(extent(unsigned(walked))), segments)) : costs.unknown;
  int64_t warp = std::max<int64_t>(1, 32 / lanes); // points of a warp
  int64_t most = std::max<int64_t>(1, costs.threads / lanes) * costs.perThread;
  int64_t points = std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(average + average / 2))), warp, most);
  l.tiles[walked] = clampTile(l, walked, points);
  l.warps = std::clamp<int64_t>(lanes * l.tiles[walked] / costs.perThread / 32, std::max<int64_t>(1, lanes / 32), costs.threads / 32);
  return true;
}

} // namespace kernelc::te

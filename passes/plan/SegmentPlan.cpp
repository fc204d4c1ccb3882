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

constexpr int64_t kWarp = 32;

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

/// Whether what is reduced differs between the results whose points it is of.
bool tellsRowsApart(Operation *op) {
  if (isa<CascadeOp>(op))
    return true; // by what its components have come to
  if (!isa<ReduceOp>(op))
    return false;
  unsigned dims = getExtents(op).getNumResults();
  llvm::BitVector support(dims);
  for (Value v : getYield(op).getValues())
    support |= findSupport(v, dims);
  return support.find_first() >= 0 && support.find_first() < int(getNumParallel(op));
}

} // namespace

/// The average number of points of a segment, if segments do not overlap.
int64_t Scheduler::averageLength(const LaunchPlan &l, int64_t walked, const llvm::BitVector &rows) {
  auto extent = [&](unsigned index) { return knownMax(l.extents.getResult(index), likely_); };
  Count segments = 1;
  bool isKnown = extent(unsigned(walked)) >= 0;
  for (unsigned index : rows.set_bits()) {
    isKnown &= extent(index) >= 0;
    segments *= std::max<int64_t>(1, extent(index));
  }
  return isKnown ? std::max<int64_t>(1, int64_t(Count(extent(unsigned(walked))) / segments)) : costs_.segments.unknown;
}

/// Where blocks are few they have more warps, each with points of its own: the last of them takes as long as the longest segment.
void Scheduler::shareSegments(LaunchPlan &l, int64_t walked, int64_t average) {
  Count blocks = 1;
  for (int64_t index : l.grid) {
    int64_t extent = knownMax(l.extents.getResult(index), likely_);
    if (extent < 0)
      return;
    blocks *= llvm::divideCeil(extent, l.tiles[index]);
  }
  const int64_t most = int64_t(target_.smCount) * target_.registersPerSm / (kWarp * kWarp); // warps of as few registers as such a walk has
  while (int64_t(blocks * (2 * l.warps)) <= most && 2 * l.warps * kWarp <= costs_.segments.threads && 2 * l.tiles[walked] <= average) {
    l.warps *= 2;
    l.tiles[walked] *= 2;
  }
}

bool Scheduler::scheduleSegments(LaunchPlan &l) {
  Segments found{-1, llvm::BitVector(l.indices.size())};
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (isa<ReduceOp, CascadeOp>(ops_[ordinal]) && !addSegments(ops_[ordinal], l.dims[n], found))
      return false;
  auto [walked, rows] = found;
  if (walked < 0 || llvm::is_contained(l.grid, walked))
    return false;
  const SegmentCosts &costs = costs_.segments;
  AccessSummary s = summarizeAccesses(l, ops_, facts_);
  int64_t beside = -1; // the index that runs along memory, and is the same in all segments
  for (int64_t index : l.grid)
    if (!rows[index] && s.contiguousBytes[index] > 0 && (beside < 0 || s.contiguousBytes[index] > s.contiguousBytes[beside]))
      beside = index;
  int64_t average = averageLength(l, walked, rows), vector = beside >= 0 ? s.longestVector() : 1;
  if (beside >= 0) {
    // Threads lie along it, and each has a few points on their way.
    l.tiles[beside] = clampTile(l, beside, costs.threads * vector);
    int64_t lanes = std::max<int64_t>(1, l.tiles[beside] / vector), warp = std::max<int64_t>(1, kWarp / lanes);
    int64_t most = warp * std::max<int64_t>(1, costs.elements / vector);
    l.tiles[walked] = clampTile(l, walked, std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(average))), warp, most));
    l.warps = std::max<int64_t>(1, lanes / kWarp);
    shareSegments(l, walked, average);
    return true;
  }
  // A block walks one row's segment: of several it would make all their points for each row. Where points are the same for all rows it
  // only asks for each row whether they count, and short segments that lie side by side keep a warp busy.
  int64_t warpPoints = kWarp * costs.perThread, several = 1;
  if (!rows.none() && llvm::none_of(l.ops, [&](int64_t ordinal) { return tellsRowsApart(ops_[ordinal]); })) {
    int64_t last = rows.find_last();
    int64_t fitting = std::clamp<int64_t>(warpPoints / average, 1, costs.rows);
    several = l.tiles[last] = clampTile(l, last, int64_t(llvm::bit_floor(uint64_t(fitting))));
  }
  // A round begins at a multiple of its points, which may be before the first segment: of several rows it has half of what they have.
  int64_t points = int64_t(llvm::bit_floor(uint64_t(several > 1 ? several * average / 2 : average * 3 / 2)));
  l.tiles[walked] = clampTile(l, walked, std::clamp<int64_t>(points, kWarp, costs.threads * costs.perThread));
  l.warps = std::clamp<int64_t>(l.tiles[walked] / warpPoints, 1, costs.threads / kWarp);
  return true;
}

} // namespace kernelc::te

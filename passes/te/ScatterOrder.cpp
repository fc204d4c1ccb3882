// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Points are sorted by merging: ranks within chunks by comparing all pairs, then runs of ever more points by binary search.
#include "passes/te/ScatterSorter.h"

#include "ir/te/Hints.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

SortCost costOfMerges(int64_t points) {
  const SortingCosts &costs = sortingCosts();
  SortCost best{costs.fan, 0};
  for (int64_t fan = costs.fan; fan > 1; fan /= 2) {
    double time = costs.launchesOfMerging * costs.launch + double(points) * costs.pairs;
    for (int64_t length = costs.chunk; length < points; length *= fan)
      time += 2 * costs.launch + double(points) * double(std::min(fan, int64_t(llvm::divideCeil(points, length)))) *
                                     double(llvm::Log2_64(length)) * costs.step;
    if (best.time == 0 || time < best.time)
      best = {fan, time};
  }
  return best;
}

/// The row of each point above the point's number; points that count for nothing go behind the last row.
Value ScatterSorter::makeKeys() {
  return makeCompute("_points", points_, b.getI64Type(), [&](Value point) {
    SmallVector<Value> indices = indicesOf(point), roots = conditionRoots(false);
    for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
      if (carriedDim_[r] < 0)
        roots.push_back(s);
    IRMapping body = cloneBody(roots, indices);
    Value counts = conditionAt(indices, body, false);
    AffineExpr row = number(0);
    SmallVector<Value> subscripts;
    for (auto [r, s] : llvm::enumerate(op_.getSubscripts())) {
      if (carriedDim_[r] >= 0)
        continue;
      AffineExpr extent = op_.getShape().getResult(r);
      row = row * extent + dim(subscripts.size());
      subscripts.push_back(body.lookupOrDefault(s));
      if (op_.getGuarded()) {
        counts = both(counts, compare(arith::CmpIPredicate::sge, subscripts.back(), index(0)));
        counts = both(counts, compare(arith::CmpIPredicate::slt, subscripts.back(), value(extent, {})));
      }
    }
    Value key = value(row, subscripts);
    if (counts)
      key = arith::SelectOp::create(b, loc(), counts, key, value(rows_, {}));
    Value high = arith::ShLIOp::create(b, loc(), toInteger(key), integer(kPointBits));
    return Value(arith::OrIOp::create(b, loc(), high, toInteger(point)));
  });
}

Value ScatterSorter::sortChunks(Value keys) {
  const int64_t chunk = sortingCosts().chunk;
  AffineExpr chunks = points_.ceilDiv(chunk), first = dim(0) * chunk + dim(1), second = dim(0) * chunk + dim(2);
  Value rank = makeSum("_ranks", {chunks, number(chunk), number(chunk)}, 2, b.getI64Type(), {points_ - 1 - first, points_ - 1 - second},
                       [&](ValueRange at) -> SmallVector<Value> {
                         Value own = read(keys, {at[0], at[1]}, first), other = read(keys, {at[0], at[2]}, dim(0) * chunk + dim(1));
                         Value below = compare(arith::CmpIPredicate::slt, other, own);
                         return {arith::ExtUIOp::create(b, loc(), b.getI64Type(), below)};
                       });
  return makePermuted("_runs", {chunks, number(chunk)}, {points_ - 1 - first}, [&](ValueRange at) -> SmallVector<Value> {
    Value place = arith::AddIOp::create(b, loc(), value(dim(0) * chunk, at), toIndex(read(rank, at)));
    return {read(keys, at, first), place};
  });
}

Value ScatterSorter::countBelow(Value sorted, Value start, int64_t length, Value key) {
  Value count = index(0);
  for (int64_t step = int64_t(llvm::bit_floor(uint64_t(length))); step >= 1; step /= 2) {
    Value next = arith::AddIOp::create(b, called("next"), count, index(step));
    SmallVector<Value> at = {next};
    if (start)
      at.push_back(start);
    // (what lies behind the last point is above every key)
    Value last = read(sorted, at, start ? dim(0) + dim(1) - 1 : dim(0) - 1, /*padded=*/true);
    Value isBelow = compare(arith::CmpIPredicate::slt, last, key);
    if (start)
      isBelow = both(isBelow, compare(arith::CmpIPredicate::sle, next, index(length)));
    count = arith::SelectOp::create(b, called("found"), isBelow, next, count);
  }
  return count;
}

/// Runs of `length` points become runs of `fan` times as many.
Value ScatterSorter::mergeRuns(Value sorted, int64_t length, int64_t fan) {
  int64_t whole = length * fan;
  AffineExpr group = dim(0).floorDiv(whole) * whole, run = group + dim(1) * length;
  Value place =
      makeSum("_places", {points_, number(fan)}, 1, b.getI64Type(), {points_ - 1 - run}, [&](ValueRange at) -> SmallVector<Value> {
        return {toInteger(countBelow(sorted, value(run, at), length, read(sorted, at[0])))};
      });
  setPointByPoint(place.getDefiningOp());
  return makePermuted("_runs", {points_}, {}, [&](ValueRange at) -> SmallVector<Value> {
    return {read(sorted, at), arith::AddIOp::create(b, loc(), value(group, at), toIndex(read(place, at)))};
  });
}

/// Where the points of each row begin, and where those of the last one end.
Value ScatterSorter::makeSegments(Value sorted) {
  int64_t points = knownMax(points_, facts_), most = points < 0 ? int64_t(1) << kPointBits : points;
  Value found = makeCompute("_segments", rows_ + 1, b.getI64Type(), [&](Value row) {
    Value key = arith::ShLIOp::create(b, loc(), toInteger(row), integer(kPointBits));
    return toInteger(countBelow(sorted, {}, most, key));
  });
  setPointByPoint(found.getDefiningOp());
  return found;
}

/// The keys of all points in their order.
Value ScatterSorter::sortKeys() {
  int64_t points = knownMax(points_, facts_);
  if (int64_t bits = digitBits(points, knownMax(rows_, facts_)))
    return sortByDigits(makeKeys(), bits);
  Value sorted = sortChunks(makeKeys());
  int64_t most = points < 0 ? int64_t(1) << kPointBits : points;
  int64_t fan = points < 0 ? sortingCosts().fan : costOfMerges(points).fan;
  for (int64_t length = sortingCosts().chunk; length < most; length *= fan)
    sorted = mergeRuns(sorted, length, fan);
  return sorted;
}

} // namespace kernelc::te

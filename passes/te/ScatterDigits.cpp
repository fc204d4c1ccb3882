// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many points are sorted by counting, digit by digit of their rows, the lowest first: where a block's points of a digit begin is a sum
// over all that come before, and within the block a point is behind those of its digit that stand before it. Points of one row stay in
// their order.
#include "passes/te/ScatterSorter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

constexpr int64_t kMostCounted = 1u << 31; ///< points: counts are words of 32 bits

int64_t digitBits(int64_t points, int64_t rows) {
  if (points < 0 || points >= kMostCounted)
    return 0;
  const SortingCosts &costs = sortingCosts();
  const int64_t all = rows < 0 ? 63 - kPointBits : int64_t(llvm::Log2_64_Ceil(uint64_t(rows) + 1)); // of a row, and of none
  int64_t best = 0;
  double least = costOfMerges(points).time / costs.timesAsFast;
  for (int64_t bits = 1; bits <= std::min(all, costs.mostBits); ++bits) {
    double counts = double(llvm::divideCeil(points, costs.block)) * double(int64_t(1) << bits);
    double pass = costs.launchesOfDigit * costs.launch +
                  double(points) * (costs.atomic + costs.pairsOfBlock + double(costs.bytesOfPoint) * costs.byte) +
                  counts * double(costs.bytesOfCount) * costs.byte;
    if (double time = double(llvm::divideCeil(all, bits)) * pass; time < least) {
      least = time;
      best = bits;
    }
  }
  return best;
}

/// A point's digit, as a word of 32 bits: it is compared with those of its block.
Value ScatterSorter::makeDigits(Value keys, int64_t shift, int64_t bits) {
  return makeCompute("_digits", points_, b.getI32Type(), [&](Value point) -> Value {
    Value moved = arith::ShRUIOp::create(b, loc(), read(keys, point), integer(kPointBits + shift));
    Value digit = arith::AndIOp::create(b, called("digit"), moved, integer((int64_t(1) << bits) - 1));
    return arith::TruncIOp::create(b, loc(), b.getI32Type(), digit);
  });
}

/// For each value of the digit and each block how many points the block has of it, blocks next to each other.
Value ScatterSorter::countDigits(Value digits, int64_t bits) {
  AffineExpr counts = blocks() * (int64_t(1) << bits);
  auto word = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(b, loc(), n, 32); };
  auto zeros = ComputeOp::create(b, loc(), typeOf(counts, b.getI32Type()), b.getStrArrayAttr({"p"}), over(counts), IntegerSetAttr(),
                                 Value(), AffineMapAttr(), AffineMapAttr(), named("_no_counts"), false);
  fill(zeros.getBody(), 1, [&](ValueRange) { YieldOp::create(b, loc(), ValueRange{word(0)}, Value()); });
  auto sum =
      ScatterOp::create(b, loc(), zeros.getResult().getType(), CombinerAttr::get(b.getContext(), Combiner::Sum), b.getStrArrayAttr({"p"}),
                        over(points_), IntegerSetAttr(), zeros.getResult(), over(counts), named("_counts"), false, false);
  fill(sum.getBody(), 1, [&](ValueRange at) {
    Value digit = toIndex(read(digits, at));
    YieldOp::create(b, loc(), ValueRange{word(1), value(dim(0) * blocks() + dim(1).floorDiv(sortingCosts().block), {digit, at[0]})},
                    Value());
  });
  return sum.getResult();
}

/// Where a block's points of a digit begin: behind all of smaller digits, and those of the digit in blocks before.
Value ScatterSorter::startDigits(Value counts, int64_t bits) {
  AffineExpr extent = blocks() * (int64_t(1) << bits);
  auto starts = ReduceOp::create(b, loc(), typeOf(extent, b.getI32Type()), CombinerAttr::get(b.getContext(), Combiner::Sum),
                                 b.getStrArrayAttr({"p", "q"}), b.getI64IntegerAttr(1), AffineMapAttr::get(over({extent, extent})),
                                 setOf({dim(0) - dim(1) - 1}, 2, symbols_), Value(), AffineMapAttr(), AffineMapAttr(), named("_starts"));
  starts.setOwnLaunch(true);
  fill(starts.getBody(), 2, [&](ValueRange at) { YieldOp::create(b, loc(), ValueRange{read(counts, at[1])}, Value()); });
  return starts.getResult();
}

Value ScatterSorter::sortByDigit(Value keys, int64_t shift, int64_t bits) {
  Value digits = makeDigits(keys, shift, bits), starts = startDigits(countDigits(digits, bits), bits);
  const int64_t block = sortingCosts().block;
  AffineExpr first = dim(0) * block + dim(1), before = dim(1) - dim(2) - 1;
  Value rank = makeSum("_ranks", {blocks(), number(block), number(block)}, 2, b.getI32Type(), {points_ - 1 - first, before},
                       [&](ValueRange at) -> SmallVector<Value> {
                         Value own = read(digits, {at[0], at[1]}, first), other = read(digits, {at[0], at[2]}, first);
                         return {arith::ExtUIOp::create(b, loc(), b.getI32Type(), compare(arith::CmpIPredicate::eq, own, other))};
                       });
  return makePermuted("_sorted", {blocks(), number(block)}, {points_ - 1 - first}, [&](ValueRange at) -> SmallVector<Value> {
    Value start = read(starts, {toIndex(read(digits, at, first)), at[0]}, dim(0) * blocks() + dim(1));
    return {read(keys, at, first), arith::AddIOp::create(b, loc(), toIndex(start), toIndex(read(rank, at)))};
  });
}

Value ScatterSorter::sortByDigits(Value keys, int64_t bits) {
  int64_t rows = knownMax(rows_, facts_), all = rows < 0 ? 63 - kPointBits : int64_t(llvm::Log2_64_Ceil(uint64_t(rows) + 1));
  for (int64_t shift = 0; shift < all; shift += bits)
    keys = sortByDigit(keys, shift, bits);
  return keys;
}

AffineExpr ScatterSorter::blocks() { return points_.ceilDiv(sortingCosts().block); }

} // namespace kernelc::te

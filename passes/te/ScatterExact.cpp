// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of scattered f32 without an order, of integers. An f32 is a mantissa of 24 bits at one of 254 places. A result has a
// word of 64 bits for each `width` places, to which atomics add mantissas shifted by what is left of their place; the bits above are
// for as many points as there are. Integers have one sum in any order, and so has what the words come to: added up in f64, it is off by
// no more than 2^-53 of the sum of magnitudes before it is rounded.
#include "passes/te/ScatterSorter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

constexpr int64_t kMantissa = 24, kPlaces = 254, kLeastExponent = -149, kF64Bias = 1023, kF64Mantissa = 52;
constexpr int64_t kSpecials = 3; ///< words that count infinities, negative ones, and what is no number
constexpr int64_t kMostWidth = 32;

/// Places of a word: 62 bits hold as many mantissas as there are points.
static int64_t widthOf(int64_t points) {
  return std::min(kMostWidth, 63 - kMantissa - int64_t(llvm::Log2_64_Ceil(uint64_t(std::max<int64_t>(points, 1)) + 1)));
}
static int64_t wordsOf(int64_t width) { return llvm::divideCeil(kPlaces, width) + kSpecials; }

bool ScatterSorter::paysExactly() {
  if (*op_.getKind() != Combiner::Sum || !op_.getResult().getType().getElementType().isF32())
    return false;
  int64_t points = knownMax(points_, facts_), rows = knownMax(rows_, facts_);
  Count carried = 1;
  for (unsigned d = 0; d < carriedBy_.size(); ++d)
    if (carriedBy_[d] >= 0) {
      int64_t most = knownMax(op_.getExtents().getResult(d), facts_);
      carried *= most < 0 ? Count(Count::kMost) : Count(most);
    }
  if (points < 0 || rows < 0 || points >= int64_t(1) << kPointBits)
    return false;
  double values = double(Count(points) * carried), results = double(Count(rows) * carried);
  double bytes = results * double(wordsOf(widthOf(points))) * sizeof(int64_t);
  const SortingCosts &costs = sortingCosts();
  return bytes <= costs.mostBytes &&
         values * costs.atomic + 2 * bytes * costs.byte + costs.launchesOfWords * costs.launch < costOfMerges(points).time;
}

std::pair<Value, Value> ScatterSorter::wordOf(Value v, int64_t width) {
  auto number = [&](int64_t n) { return arith::ConstantIntOp::create(b, loc(), n, 32).getResult(); };
  Value bits = arith::BitcastOp::create(b, loc(), b.getI32Type(), v);
  Value exponent = arith::AndIOp::create(b, loc(), arith::ShRUIOp::create(b, loc(), bits, number(kMantissa - 1)), number(255));
  Value fraction = arith::AndIOp::create(b, loc(), bits, number((int64_t(1) << (kMantissa - 1)) - 1));
  Value isSmall = compare(arith::CmpIPredicate::eq, exponent, number(0));
  Value isSpecial = compare(arith::CmpIPredicate::eq, exponent, number(255));
  Value whole = arith::OrIOp::create(b, loc(), fraction, number(int64_t(1) << (kMantissa - 1)));
  Value mantissa = arith::SelectOp::create(b, loc(), isSmall, fraction, whole);
  Value place = arith::SelectOp::create(b, loc(), isSmall, number(0), arith::SubIOp::create(b, loc(), exponent, number(1)));
  Value word = arith::DivUIOp::create(b, loc(), place, number(width)), shift = arith::RemUIOp::create(b, loc(), place, number(width));
  Value isNegative = compare(arith::CmpIPredicate::slt, bits, number(0));
  Value shifted = arith::ShLIOp::create(b, loc(), arith::ExtUIOp::create(b, loc(), b.getI64Type(), mantissa),
                                        arith::ExtUIOp::create(b, loc(), b.getI64Type(), shift));
  Value term = arith::SelectOp::create(b, loc(), isNegative, arith::SubIOp::create(b, loc(), integer(0), shifted), shifted);
  // Infinities and what is no number are counted.
  int64_t first = wordsOf(width) - kSpecials;
  Value isNumber = compare(arith::CmpIPredicate::eq, fraction, number(0));
  Value infinite = arith::SelectOp::create(b, loc(), isNegative, number(first + 1), number(first));
  Value special = arith::SelectOp::create(b, loc(), isNumber, infinite, number(first + 2));
  return {arith::SelectOp::create(b, loc(), isSpecial, integer(1), term),
          arith::IndexCastOp::create(b, loc(), b.getIndexType(), arith::SelectOp::create(b, loc(), isSpecial, special, word))};
}

Value ScatterSorter::numberOf(Value word, Value at, int64_t width) {
  auto constant = [&](double v) { return arith::ConstantOp::create(b, loc(), b.getF64FloatAttr(v)).getResult(); };
  Value n = toInteger(at);
  int64_t first = wordsOf(width) - kSpecials;
  // 2^(width * n - 149): an f64's exponent.
  Value exponent = arith::AddIOp::create(b, loc(), arith::MulIOp::create(b, loc(), n, integer(width)), integer(kLeastExponent + kF64Bias));
  Value unit = arith::BitcastOp::create(b, loc(), b.getF64Type(), arith::ShLIOp::create(b, loc(), exponent, integer(kF64Mantissa)));
  Value number = arith::MulFOp::create(b, loc(), arith::SIToFPOp::create(b, loc(), b.getF64Type(), word), unit);
  Value isNone = compare(arith::CmpIPredicate::eq, word, integer(0));
  auto isAt = [&](int64_t special) { return compare(arith::CmpIPredicate::eq, n, integer(first + special)); };
  double infinity = std::numeric_limits<double>::infinity();
  Value special = arith::SelectOp::create(b, loc(), isAt(1), constant(-infinity), constant(std::numeric_limits<double>::quiet_NaN()));
  special = arith::SelectOp::create(b, loc(), isAt(0), constant(infinity), special);
  special = arith::SelectOp::create(b, loc(), isNone, constant(0), special);
  return arith::SelectOp::create(b, loc(), compare(arith::CmpIPredicate::slt, n, integer(first)), number, special);
}

void ScatterSorter::sumExactly() {
  auto ownPoint = [&](Value tensor, ValueRange at) -> Value {
    return ReadOp::create(b, loc(), cast<RankedTensorType>(tensor.getType()).getElementType(), tensor, at, AffineMapAttr(),
                          BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  };
  unsigned rank = op_.getShape().getNumResults();
  int64_t width = widthOf(knownMax(points_, facts_));
  SmallVector<AffineExpr> extents(op_.getShape().getResults());
  SmallVector<std::string> names;
  for (unsigned r = 0; r < rank; ++r)
    names.push_back("r" + std::to_string(r));
  SmallVector<StringRef> results(names.begin(), names.end()), all(results), stored{"w"};
  all.push_back("w");
  llvm::append_range(stored, results);
  // Words of one place lie side by side: of most results few places are used, which stay in the cache.
  SmallVector<AffineExpr> places{number(wordsOf(width))};
  llvm::append_range(places, extents);
  extents.push_back(number(wordsOf(width)));
  auto zero = ComputeOp::create(b, loc(), typeOf(places, b.getI64Type()), b.getStrArrayAttr(stored), over(places), IntegerSetAttr(),
                                Value(), AffineMapAttr(), AffineMapAttr(), named("_words"), false);
  fill(zero.getBody(), rank + 1, [&](ValueRange) { YieldOp::create(b, loc(), ValueRange{integer(0)}, Value()); });
  auto words =
      ScatterOp::create(b, loc(), zero.getResult().getType(), CombinerAttr::get(b.getContext(), Combiner::Sum), op_.getIndices(),
                        op_.getExtents(), op_.getConditionAttr(), zero.getResult(), over(places), named("_words"), op_.getGuarded(), false);
  IRMapping mapping;
  op_.getBody().cloneInto(&words.getBody(), mapping);
  {
    YieldOp yield = words.getYield();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(yield);
    auto [term, at] = wordOf(words.getValue(), width);
    SmallVector<Value> values{term, at};
    llvm::append_range(values, words.getSubscripts());
    YieldOp::create(b, loc(), values, yield.getCondition());
    yield.erase();
  }
  auto sum = ReduceOp::create(b, loc(), typeOf(op_.getShape().getResults(), b.getF64Type()), Combiner::Sum, b.getStrArrayAttr(all), rank,
                              over(extents), IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(), named("_sum"));
  fill(sum.getBody(), rank + 1, [&](ValueRange at) {
    SmallVector<Value> place{at.back()};
    llvm::append_range(place, at.drop_back());
    YieldOp::create(b, loc(), ValueRange{numberOf(ownPoint(words.getResult(), place), at.back(), width)}, Value());
  });
  Value start = startOf();
  auto rounded = ComputeOp::create(b, loc(), cast<RankedTensorType>(op_.getResult().getType()), b.getStrArrayAttr(results),
                                   over(op_.getShape().getResults()), IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(),
                                   op_.getNameAttr(), false);
  fill(rounded.getBody(), rank, [&](ValueRange at) {
    Value all = ownPoint(sum.getResult(), at);
    if (start)
      all = arith::AddFOp::create(b, loc(), all, arith::ExtFOp::create(b, loc(), b.getF64Type(), ownPoint(start, at)));
    YieldOp::create(b, loc(), ValueRange{arith::TruncFOp::create(b, loc(), b.getF32Type(), all)}, Value());
  });
  replaceBy(rounded);
}

} // namespace kernelc::te

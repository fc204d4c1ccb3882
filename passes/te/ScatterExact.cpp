// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of scattered f32 without an order, of integers. An f32 is a mantissa of 24 bits at one of 254 places. A result has a
// word of 64 bits for each `width` places, to which atomics add mantissas shifted by what is left of their place; the bits above are
// for as many points as there are. Values of one program are of few words: where results are many, it is asked first which these are, and
// the others are neither zeroed nor read. Integers have one sum in any order, and so has what the words come to: added up in f64, it is off
// by no more than 2^-53 of the sum of magnitudes before it is rounded.
#include "passes/te/ScatterSorter.h"

#include "ir/te/Hints.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/analysis/Contraction.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

constexpr int64_t kMantissa = 24, kPlaces = 254, kLeastExponent = -149, kF64Bias = 1023, kF64Mantissa = 52;
constexpr int64_t kSpecials = 1; ///< the word that counts infinities in its low half, and negative ones in its high one; no number is both
constexpr int64_t kNegative = int64_t(1) << 32;
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
    if (carriedBy_[d] >= 0)
      carried *= countOf(op_.getExtents().getResult(d), facts_);
  if (points < 0 || rows < 0 || points >= int64_t(1) << kPointBits)
    return false;
  double values = double(Count(points) * carried), results = double(Count(rows) * carried);
  const SortingCosts &costs = sortingCosts();
  double word = results * sizeof(int64_t), words = double(wordsOf(widthOf(points)));
  auto timeOf = [&](double n) { return 2 * n * word * costs.byte; }; // (of words that are zeroed and read)
  double asked = timeToAsk(), unused = std::max(words - double(costs.likelyWords), 0.0);
  asksForWords_ = asked < timeOf(unused);
  double moved = asksForWords_ ? timeOf(words - unused) + asked : timeOf(words);
  return words * word <= costs.mostBytes &&
         values * costs.atomic + moved + costs.launchesOfWords * costs.launch < costOfMerges(points).time;
}

/// What it takes to ask the values once more which words they use.
double ScatterSorter::timeToAsk() {
  double bytes = 0;
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &op_.getBlock(); };
  for (Value root : {op_.getValue(), Value(op_.getYield().getCondition())})
    if (root && root.getDefiningOp() && root.getParentBlock() == &op_.getBlock())
      (void)getBackwardSlice(root, &slice, options);
  for (Operation *op : slice)
    if (auto load = dyn_cast<ReadOp>(op)) {
      double elements = 1;
      for (unsigned d : findSupport(load.getResult(), op_.getNumDims()).set_bits()) {
        int64_t most = knownMax(op_.getExtents().getResult(d), likely_);
        elements *= most < 0 ? sortingCosts().mostBytes : double(most);
      }
      bool isChosen = llvm::any_of(load.getOperands_(), [&](Value v) { return !findIndex(op_, v) && !findReads(v).empty(); });
      bytes += elements * (isChosen ? sortingCosts().bytesOfChosen : load.getResult().getType().getIntOrFloatBitWidth() / 8.0);
    }
  return 2 * sortingCosts().launch + bytes * sortingCosts().byte;
}

/// Reads at `at`, which `lead` and `rest` make, have both as operands: subscripts stay linear in indices.
static void readByParts(Block &block, Value at, Value lead, Value rest, int64_t length) {
  for (ReadOp load : llvm::to_vector(block.getOps<ReadOp>())) {
    SmallVector<Value> operands(load.getOperands_());
    if (!llvm::is_contained(operands, at))
      continue;
    AffineMap map = load.getMapOrIdentity();
    MLIRContext *context = map.getContext();
    SmallVector<AffineExpr> dims = llvm::map_to_vector(llvm::seq<unsigned>(0, operands.size()), [&](unsigned d) {
      AffineExpr own = getAffineDimExpr(d, context);
      return operands[d] == at ? own * length + getAffineDimExpr(operands.size(), context) : own;
    });
    map = AffineMap::get(operands.size() + 1, map.getNumSymbols(),
                         llvm::map_to_vector(map.getResults(), [&](AffineExpr e) { return e.replaceDims(dims); }), context);
    llvm::replace(operands, at, lead);
    operands.push_back(rest);
    load.getOperands_Mutable().assign(operands);
    load.setMapAttr(AffineMapAttr::get(map));
  }
}

/// A word with a bit for each word that a value uses.
Value ScatterSorter::findUsedWords(int64_t width) {
  unsigned cut = 0, dims = op_.getNumDims();
  for (unsigned d = 1; d < dims; ++d)
    if (knownMax(op_.getExtents().getResult(d), facts_) > knownMax(op_.getExtents().getResult(cut), facts_))
      cut = d;
  int64_t length = llvm::divideCeil(std::max<int64_t>(knownMax(op_.getExtents().getResult(cut), facts_), 1), sortingCosts().mostParts);
  AffineExpr extent = op_.getExtents().getResult(cut), parts = extent.ceilDiv(length);
  // The part, what is within it, and the other indices.
  SmallVector<AffineExpr> extents{parts, number(length)}, own(dims);
  SmallVector<StringRef> names{"part", "q"};
  for (unsigned d = 0; d < dims; ++d) {
    own[d] = d == cut ? dim(0) * length + dim(1) : dim(extents.size());
    if (d == cut)
      continue;
    extents.push_back(op_.getExtents().getResult(d));
    names.push_back(cast<StringAttr>(op_.getIndices()[d]).getValue());
  }
  SmallVector<AffineExpr> where{extent - 1 - own[cut]};
  SmallVector<bool> isEqual{false};
  if (std::optional<IntegerSet> set = op_.getCondition())
    for (auto [e, equal] : llvm::zip(set->getConstraints(), set->getEqFlags())) {
      where.push_back(e.replaceDims(own));
      isEqual.push_back(equal);
    }
  Type mask = b.getIntegerType(wordsOf(width) < 32 ? 32 : 64);
  auto bits = [&](int64_t n) -> Value { return arith::ConstantOp::create(b, loc(), b.getIntegerAttr(mask, n)); };
  auto some = ReduceOp::create(b, loc(), typeOf(parts, mask), Combiner::Or, b.getStrArrayAttr(names), 1, over(extents),
                               IntegerSetAttr::get(IntegerSet::get(extents.size(), symbols_, where, isEqual)), Value(), AffineMapAttr(),
                               AffineMapAttr(), named("_some_used"));
  fill(some.getBody(), extents.size(), [&](ValueRange at) {
    Value whole = value(dim(0) * length + dim(1), at.take_front(2));
    SmallVector<Value> indices;
    for (unsigned d = 0, next = 2; d < dims; ++d)
      indices.push_back(d == cut ? whole : at[next++]);
    Value condition = op_.getYield().getCondition();
    IRMapping body = cloneBody({op_.getValue(), condition}, indices);
    readByParts(*b.getInsertionBlock(), whole, at[0], at[1], length);
    Value v = body.lookupOrDefault(op_.getValue()), zero = arith::ConstantOp::create(b, loc(), b.getF32FloatAttr(0));
    Value bit = arith::ShLIOp::create(b, loc(), bits(1), arith::IndexCastOp::create(b, loc(), mask, wordOf(v, width).second));
    Value isSome = arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::UNE, v, zero);
    YieldOp::create(b, loc(), ValueRange{arith::SelectOp::create(b, loc(), isSome, bit, bits(0))},
                    condition ? body.lookupOrDefault(condition) : Value());
  });
  auto used = ReduceOp::create(b, loc(), typeOf({}, mask), Combiner::Or, b.getStrArrayAttr({"part"}), 0, over(parts), IntegerSetAttr(),
                               Value(), AffineMapAttr(), AffineMapAttr(), named("_used"));
  fill(used.getBody(), 1, [&](ValueRange at) { YieldOp::create(b, loc(), ValueRange{read(some.getResult(), at)}, Value()); });
  return used.getResult();
}

/// Whether word `at` is one of `used`.
Value ScatterSorter::isUsed(Value used, Value at) {
  Value bits = read(used, ValueRange()), n = arith::IndexCastOp::create(b, loc(), bits.getType(), at);
  return arith::TruncIOp::create(b, loc(), b.getI1Type(), arith::ShRUIOp::create(b, loc(), bits, n));
}

/// Zeros in words of `used`, or, where that is null, in all.
Value ScatterSorter::makeZeros(ArrayRef<StringRef> names, ArrayRef<AffineExpr> places, Value used) {
  RankedTensorType type = typeOf(places, b.getI64Type());
  if (!used) {
    auto zero = ComputeOp::create(b, loc(), type, b.getStrArrayAttr(names), over(places), IntegerSetAttr(), Value(), AffineMapAttr(),
                                  AffineMapAttr(), named("_words"), false);
    fill(zero.getBody(), places.size(), [&](ValueRange) { YieldOp::create(b, loc(), ValueRange{integer(0)}, Value()); });
    return zero.getResult();
  }
  auto zero = ScatterOp::create(b, loc(), type, CombinerAttr(), b.getStrArrayAttr(names), over(places), IntegerSetAttr(), Value(),
                                over(places), named("_words"), false, false);
  setOwnLaunch(zero);
  fill(zero.getBody(), places.size(), [&](ValueRange at) {
    SmallVector<Value> values{integer(0)};
    llvm::append_range(values, at);
    YieldOp::create(b, loc(), values, isUsed(used, at[0]));
  });
  return zero.getResult();
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
  Value isNumber = compare(arith::CmpIPredicate::eq, fraction, number(0));
  Value infinite = arith::SelectOp::create(b, loc(), isNegative, integer(kNegative), integer(1));
  Value special = arith::SelectOp::create(b, loc(), isNumber, infinite, integer(kNegative + 1));
  Value at = arith::SelectOp::create(b, loc(), isSpecial, number(wordsOf(width) - kSpecials), word);
  return {arith::SelectOp::create(b, loc(), isSpecial, special, term), toIndex(at)};
}

Value ScatterSorter::numberOf(Value word, Value at, int64_t width) {
  auto constant = [&](double v) { return arith::ConstantOp::create(b, loc(), b.getF64FloatAttr(v)).getResult(); };
  Value n = toInteger(at);
  // 2^(width * n - 149): an f64's exponent.
  Value exponent = arith::AddIOp::create(b, loc(), arith::MulIOp::create(b, loc(), n, integer(width)), integer(kLeastExponent + kF64Bias));
  Value unit = arith::BitcastOp::create(b, loc(), b.getF64Type(), arith::ShLIOp::create(b, loc(), exponent, integer(kF64Mantissa)));
  Value number = arith::MulFOp::create(b, loc(), arith::SIToFPOp::create(b, loc(), b.getF64Type(), word), unit);
  auto isSome = [&](Value half) { return compare(arith::CmpIPredicate::ne, half, integer(0)); };
  Value isAbove = isSome(arith::AndIOp::create(b, loc(), word, integer(kNegative - 1)));
  Value isBelow = isSome(arith::ShRUIOp::create(b, loc(), word, integer(32)));
  double infinity = std::numeric_limits<double>::infinity();
  Value below = arith::SelectOp::create(b, loc(), isAbove, constant(std::numeric_limits<double>::quiet_NaN()), constant(-infinity));
  Value above = arith::SelectOp::create(b, loc(), isAbove, constant(infinity), constant(0));
  Value special = arith::SelectOp::create(b, loc(), isBelow, below, above);
  Value isPlace = compare(arith::CmpIPredicate::slt, n, integer(wordsOf(width) - kSpecials));
  return arith::SelectOp::create(b, loc(), isPlace, number, special);
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
  Value used = asksForWords_ ? findUsedWords(width) : Value(), zero = makeZeros(stored, places, used);
  auto words = ScatterOp::create(b, loc(), cast<RankedTensorType>(zero.getType()), CombinerAttr::get(b.getContext(), Combiner::Sum),
                                 op_.getIndices(), op_.getExtents(), op_.getConditionAttr(), zero, over(places), named("_words"),
                                 op_.getGuarded(), false);
  IRMapping mapping;
  op_.getBody().cloneInto(&words.getBody(), mapping);
  {
    YieldOp yield = words.getYield();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(yield);
    auto [term, at] = wordOf(words.getValue(), width);
    SmallVector<Value> values{term, at};
    llvm::append_range(values, words.getSubscripts());
    Value counts = yield.getCondition();
    if (used) // (zeros use no word)
      counts = both(counts, compare(arith::CmpIPredicate::ne, term, integer(0)));
    YieldOp::create(b, loc(), values, counts);
    yield.erase();
  }
  auto sum = ReduceOp::create(b, loc(), typeOf(op_.getShape().getResults(), b.getF64Type()), Combiner::Sum, b.getStrArrayAttr(all), rank,
                              over(extents), IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(), named("_sum"));
  fill(sum.getBody(), rank + 1, [&](ValueRange at) {
    SmallVector<Value> place{used ? arith::SelectOp::create(b, loc(), isUsed(used, at.back()), at.back(), index(-1)) : at.back()};
    llvm::append_range(place, at.drop_back());
    Value word = used ? ReadOp::create(b, loc(), b.getI64Type(), words.getResult(), place, AffineMapAttr(),
                                       BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), integer(0))
                      : ownPoint(words.getResult(), place);
    YieldOp::create(b, loc(), ValueRange{numberOf(word, at.back(), width)}, Value());
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

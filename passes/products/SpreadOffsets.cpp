// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/SpreadOffsets.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/ExactValues.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/products/StepCosts.h"
#include "passes/products/SumBody.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A factor: what the summed indices tell apart, and offsets that are added to it, or subtracted.
struct Spread {
  Value varying;
  SmallVector<std::pair<Value, bool>> offsets; ///< with `true` subtracted
  ReadOp padded;                               ///< the read that `varying` widens, if it is the offset outside its tensor
};

bool isOfByte(Value v) { return isExactInByte(v, false) || isExactInByte(v, true); }

void collectTerms(Value v, bool isNegated, SmallVectorImpl<std::pair<Value, bool>> &terms) {
  if (auto sum = v.getDefiningOp<arith::AddIOp>()) {
    collectTerms(sum.getLhs(), isNegated, terms);
    collectTerms(sum.getRhs(), isNegated, terms);
  } else if (auto difference = v.getDefiningOp<arith::SubIOp>()) {
    collectTerms(difference.getLhs(), isNegated, terms);
    collectTerms(difference.getRhs(), !isNegated, terms);
  } else {
    terms.push_back({v, isNegated});
  }
}

class OffsetSpreader {
public:
  OffsetSpreader(ReduceOp reduce, ArrayRef<int64_t> sizeMax)
      : reduce_(reduce), b_(reduce), points_(getKernel(reduce), sizeMax), dims_(reduce.getNumDims()), parallel_(reduce.getNumParallel()) {}

  bool run() {
    if (!findSpreads() || !findInsides() || !pays())
      return false;
    Value product = makeProduct();
    if (!findContraction(product.getDefiningOp<ReduceOp>())) {
      product.getDefiningOp()->erase();
      return false;
    }
    write(product);
    return true;
  }

private:
  bool isFree(Value v) const { return findSupport(v, dims_).find_next(int(parallel_) - 1) < 0; }

  bool findSpreads() {
    auto type = dyn_cast<IntegerType>(reduce_.getResult().getType().getElementType());
    bool isPlain = reduce_.getKind() == Combiner::Sum && type && !reduce_.getInit() && !reduce_.getOutMap() && !reduce_.getCondition() &&
                   !reduce_.getYield().getCondition();
    if (!isPlain)
      return false;
    for (OpOperand *use : findFactors(reduce_.getYield().getValues()[0]))
      if (isFree(use->get()))
        scales_.push_back(use->get());
      else if (!addFactor(use->get()))
        return false;
    bool takesOffsets = llvm::any_of(factors_, [](const Spread &f) { return !f.offsets.empty(); });
    return factors_.size() == 2 && takesOffsets && !areBytes_;
  }

  bool addFactor(Value factor) {
    areBytes_ &= isOfByte(factor);
    Spread found;
    SmallVector<std::pair<Value, bool>> terms;
    collectTerms(factor, false, terms);
    for (auto [v, isNegated] : terms)
      if (isFree(v))
        found.offsets.push_back({v, isNegated});
      else if (found.varying || isNegated)
        return false;
      else
        found.varying = v;
    if (!found.varying || !isOfByte(found.varying))
      return false;
    if (auto read = stripWidening(found.varying).getDefiningOp<ReadOp>();
        read && read.getBounds() == BoundsMode::Pad && !readsZeroOutside(read)) {
      // Outside the whole factor is zero, or the sum stays.
      bool isOffset = found.offsets.size() == 1 && found.offsets[0].second && stripWidening(found.offsets[0].first) == read.getPadding() &&
                      found.varying.getDefiningOp()->getName() == found.offsets[0].first.getDefiningOp()->getName();
      if (!isOffset)
        return false;
      found.padded = read;
    }
    factors_.push_back(std::move(found));
    return true;
  }

  /// Sums of one factor read it once more.
  bool pays() {
    double points = points_.of(reduce_, llvm::BitVector(dims_, true)), spread = points / factorCosts().unit;
    for (unsigned f : {0u, 1u})
      if (!factors_[1 - f].offsets.empty())
        spread += points_.of(reduce_, findSupport(factors_[f].varying, dims_)) + factorCosts().statement;
    return spread * factorCosts().worthwhile <= points;
  }

  /// A sum of what `body` makes at `dims`, the parallel ones first, which `kept` says.
  Value makePartialSum(const llvm::BitVector &dims, const llvm::BitVector &kept, std::optional<IntegerSet> where, BodyWriter body) {
    SmallVector<unsigned> order;
    for (bool isKept : {true, false})
      for (unsigned d : dims.set_bits())
        if (kept[d] == isKept)
          order.push_back(d);
    llvm::BitVector result = dims;
    result &= kept;
    IntegerSetAttr condition;
    if (where) {
      SmallVector<AffineExpr> at(dims_, b_.getAffineConstantExpr(0));
      for (auto [place, d] : llvm::enumerate(order))
        at[d] = b_.getAffineDimExpr(place);
      condition = IntegerSetAttr::get(where->replaceDimsAndSymbols(at, {}, order.size(), where->getNumSymbols()));
    }
    return makeSum(b_, reduce_, order, result.count(), condition, StringAttr(), body).getResult();
  }

  Value clone(OpBuilder &b, Value v, IRMapping &mapping) {
    cloneTerms(b, reduce_, v, mapping);
    return mapping.lookupOrDefault(v);
  }

  /// The factor without its offset, which lies nowhere outside its tensor but is zero there.
  Value cloneVarying(OpBuilder &b, Spread &f, IRMapping &mapping) {
    if (!f.padded)
      return clone(b, f.varying, mapping);
    SmallVector<Value> operands;
    for (Value operand : f.padded.getOperands_())
      operands.push_back(clone(b, operand, mapping));
    Type type = f.padded.getResult().getType();
    Value zero = arith::ConstantOp::create(b, reduce_.getLoc(), b.getZeroAttr(type));
    Value read = ReadOp::create(b, f.padded.getLoc(), type, f.padded.getTensor(), operands, f.padded.getMapAttr(),
                                BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
    mapping.map(f.padded.getResult(), read);
    return clone(b, f.varying, mapping);
  }

  /// False where the offsets count under conditions that are not found.
  bool findInsides() {
    return !(factors_[0].padded && factors_[1].padded) && findInside(factors_[0], inside_[0]) && findInside(factors_[1], inside_[1]);
  }
  /// Where the padded read of `f` lies inside; nothing where that is everywhere, or (false) no affine condition says it.
  bool findInside(Spread &f, std::optional<IntegerSet> &where) {
    if (!f.padded)
      return true;
    SmallVector<AffineExpr> at;
    for (Value operand : f.padded.getOperands_()) {
      std::optional<unsigned> d = findIndex(reduce_, operand);
      if (!d)
        return false;
      at.push_back(b_.getAffineDimExpr(*d));
    }
    AffineMap map = f.padded.getMapAttr() ? f.padded.getMapAttr().getValue() : b_.getMultiDimIdentityMap(at.size());
    unsigned symbols = reduce_.getExtents().getNumSymbols();
    SmallVector<AffineExpr> constraints;
    for (auto [subscript, extent] : llvm::zip(map.getResults(), getTensorShape(f.padded.getTensor()).getResults())) {
      AffineExpr e = subscript.replaceDims(at);
      bool isWhole = isa<AffineDimExpr>(e) && reduce_.getExtents().getResult(cast<AffineDimExpr>(e).getPosition()) == extent;
      if (!isWhole)
        constraints.append({e, extent - 1 - e});
    }
    if (!constraints.empty())
      where = IntegerSet::get(dims_, symbols, constraints, SmallVector<bool>(constraints.size(), false));
    return true;
  }

  Value makeProduct() {
    llvm::BitVector all(dims_, true), kept(dims_);
    kept.set(0, parallel_);
    return makePartialSum(all, kept, std::nullopt, [&](OpBuilder &b, IRMapping &mapping) {
      Value left = cloneVarying(b, factors_[0], mapping), right = cloneVarying(b, factors_[1], mapping);
      return arith::MulIOp::create(b, reduce_.getLoc(), left, right).getResult();
    });
  }

  /// A partial sum and the dims that it has; the summed dims that it is not of are counted.
  struct Partial {
    Value tensor;
    llvm::BitVector dims;
    AffineExpr times;
  };

  /// The sum of the other factor, or of ones, where `where` holds. What the condition does not speak of is summed first.
  Partial makeOffsetSum(Spread *other, std::optional<IntegerSet> where) {
    llvm::BitVector own = other ? findSupport(other->varying, dims_) : llvm::BitVector(dims_), bounded(dims_);
    if (where)
      for (AffineExpr e : where->getConstraints())
        collectDims(e, bounded);
    AffineExpr times = b_.getAffineConstantExpr(1);
    for (unsigned d = parallel_; d < dims_; ++d)
      if (!own[d] && !bounded[d])
        times = times * reduce_.getExtents().getResult(d);
    llvm::BitVector kept = own;
    for (unsigned d = parallel_; d < dims_; ++d)
      if (!bounded[d])
        kept.reset(d);
    Value first =
        other ? makePartialSum(own, kept, std::nullopt, [&](OpBuilder &b, IRMapping &mapping) { return cloneVarying(b, *other, mapping); })
              : Value();
    if (!where)
      return {first, kept, times};
    llvm::BitVector all = kept, result(dims_);
    all |= bounded;
    result = all;
    result.reset(parallel_, dims_);
    Value second = makePartialSum(all, result, where, [&](OpBuilder &b, IRMapping &mapping) -> Value {
      if (first)
        return readAt(b, first, kept, mapping);
      return arith::ConstantOp::create(b, reduce_.getLoc(), b.getIntegerAttr(reduce_.getResult().getType().getElementType(), 1));
    });
    return {second, result, times};
  }

  Value readAt(OpBuilder &b, Value tensor, const llvm::BitVector &dims, IRMapping &mapping) {
    SmallVector<Value> at;
    for (unsigned d : dims.set_bits())
      at.push_back(mapping.lookup(reduce_.getBlock().getArgument(d)));
    return ReadOp::create(b, reduce_.getLoc(), reduce_.getResult().getType().getElementType(), tensor, at, AffineMapAttr(),
                          BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  }

  Value offsetOf(OpBuilder &b, const Spread &f, IRMapping &mapping) {
    Location loc = reduce_.getLoc();
    Value all = arith::ConstantOp::create(b, loc, b.getZeroAttr(reduce_.getResult().getType().getElementType()));
    for (auto [v, isNegated] : f.offsets) {
      Value own = clone(b, v, mapping);
      all = isNegated ? arith::SubIOp::create(b, loc, all, own).getResult() : arith::AddIOp::create(b, loc, all, own).getResult();
    }
    return all;
  }

  Value countOf(OpBuilder &b, AffineExpr times) {
    Value count = materialize(b, reduce_.getLoc(), simplifyAffineExpr(times, 0, reduce_.getExtents().getNumSymbols()), {},
                              reduce_.getExtents().getNumSymbols());
    return arith::IndexCastOp::create(b, reduce_.getLoc(), reduce_.getResult().getType().getElementType(), count);
  }

  /// The offsets of `of`, times the sum of what they stand beside.
  Value makeTerm(OpBuilder &b, ArrayRef<unsigned> of, const Partial &sum, IRMapping &mapping) {
    Location loc = reduce_.getLoc();
    Value term = sum.tensor ? readAt(b, sum.tensor, sum.dims, mapping) : Value();
    if (!term || sum.times != b_.getAffineConstantExpr(1)) {
      Value count = countOf(b, sum.times);
      term = term ? arith::MulIOp::create(b, loc, term, count).getResult() : count;
    }
    for (unsigned f : of)
      term = arith::MulIOp::create(b, loc, term, offsetOf(b, factors_[f], mapping));
    return term;
  }

  /// The product and, for each choice of one offset or both, the sum of what it stands beside times the offsets.
  void write(Value product) {
    SmallVector<std::pair<SmallVector<unsigned, 2>, Partial>> added;
    for (unsigned f : {0u, 1u})
      if (!factors_[f].offsets.empty())
        added.push_back({{f}, makeOffsetSum(&factors_[1 - f], inside_[f])});
    if (added.size() == 2)
      added.push_back({{0, 1}, makeOffsetSum(nullptr, inside_[0] ? inside_[0] : inside_[1])});
    product.getDefiningOp()->moveBefore(reduce_); // what reads both may be the product's epilogue
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq(parallel_));
    auto op = ComputeOp::create(b_, reduce_.getLoc(), reduce_.getResult().getType(), indicesOf(reduce_, order), extentsOf(reduce_, order),
                                IntegerSetAttr(), Value(), AffineMapAttr(), reduce_.getShapeAttr(), reduce_.getNameAttr(), false);
    writeBody(op.getBody().emplaceBlock(), reduce_, order, [&](OpBuilder &b, IRMapping &mapping) {
      llvm::BitVector kept(dims_);
      kept.set(0, parallel_);
      Value all = readAt(b, product, kept, mapping);
      for (const auto &[of, sum] : added)
        all = arith::AddIOp::create(b, reduce_.getLoc(), all, makeTerm(b, of, sum, mapping));
      for (Value scale : scales_)
        all = arith::MulIOp::create(b, reduce_.getLoc(), all, clone(b, scale, mapping));
      return all;
    });
    reduce_.getResult().replaceAllUsesWith(op.getResult());
    reduce_.erase();
  }

  ReduceOp reduce_;
  OpBuilder b_;
  BoundedPoints points_;
  unsigned dims_, parallel_;
  SmallVector<Spread, 2> factors_;
  SmallVector<Value> scales_; ///< factors that no summed index tells apart
  bool areBytes_ = true;      ///< the factors as they stand
  std::optional<IntegerSet> inside_[2];
};

} // namespace

bool spreadOffsets(ReduceOp reduce, ArrayRef<int64_t> sizeMax) { return OffsetSpreader(reduce, sizeMax).run(); }

} // namespace kernelc::te

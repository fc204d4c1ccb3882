// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/MaskedTerms.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc::te {

/// The class of `kind`'s identity for terms of `type`; 0 where there is none.
static ValueClasses identityClass(Combiner kind, Type type) {
  switch (kind) {
  case Combiner::Sum:
  case Combiner::Any:
  case Combiner::Or:
  case Combiner::Xor:
  case Combiner::MaxU: return kZero;
  case Combiner::Prod: return kOne;
  case Combiner::All: return kOne;
  case Combiner::Max: return type.isInteger(1) ? 0 : kNegInf;
  case Combiner::Min: return type.isInteger(1) ? 0 : kPosInf;
  default: return 0; // an arg reduction prefers a masked key to no key
  }
}

MaskFinder::MaskFinder(ReduceOp op, Block &body)
    : op_(op), body_(body), term_(cast<YieldOp>(body.getTerminator()).getValues()[0]), parallel_(op.getNumParallel()),
      symbols_(op.getExtents().getNumSymbols()), reduced_(op.getNumDims()), identity_(identityClass(op.getKind(), term_.getType())) {
  reduced_.set(parallel_, op.getNumDims());
}

std::optional<Mask> MaskFinder::match(arith::CmpIOp compare) {
  if (!identity_ || !compare.getLhs().getType().isIndex())
    return std::nullopt;
  for (bool masking : {false, true}) {
    std::optional<IndexConstraint> found = constraintOf(compare, !masking, body_.getArguments(), symbols_);
    if (!found || !dependsOnReduced(found->form))
      continue;
    if (std::optional<Mask> m = match(compare, masking, found, std::nullopt))
      return m;
  }
  return std::nullopt;
}

std::optional<Mask> MaskFinder::matchBound(arith::CmpIOp compare) {
  std::optional<LinearBound> bound = identity_ ? findLinearBound(compare) : std::nullopt;
  if (!bound || !dependsOnReduced(bound->form) || findSupport(bound->bound, op_.getNumDims()).anyCommon(reduced_))
    return std::nullopt;
  if (std::optional<Mask> m = match(compare, /*masking=*/false, std::nullopt, bound))
    return m;
  if (bound->relation == arith::CmpIPredicate::eq)
    return std::nullopt; // `!=` is no bound
  bound->relation = arith::invertPredicate(bound->relation);
  return match(compare, /*masking=*/true, std::nullopt, bound);
}

SmallVector<Mask> MaskFinder::findAll(unsigned most, llvm::function_ref<bool(Mask &)> counts) {
  SmallVector<Mask> masks;
  unsigned tried = 0;
  for (auto compare : body_.getOps<arith::CmpIOp>()) {
    if (tried++ >= most)
      break;
    std::optional<Mask> m = match(compare);
    if (!m)
      m = matchBound(compare);
    if (m && counts(*m))
      masks.push_back(std::move(*m));
  }
  return masks;
}

ValueClasses MaskFinder::classifyTerm(arith::CmpIOp compare, bool masking) {
  return classifyBody(body_, compare, masking, /*realProducts=*/false).lookup(term_);
}

std::optional<Mask> MaskFinder::match(arith::CmpIOp compare, bool masking, std::optional<IndexConstraint> constraint,
                                      std::optional<LinearBound> bound) {
  bool sum = op_.getKind() == Combiner::Sum;
  Mask m{compare, masking, constraint, bound, {}, classifyBody(body_, compare, masking, /*realProducts=*/sum)};
  ValueClasses c = m.classes.lookup(term_);
  if (c == identity_)
    return m;
  if (!sum || c != (kZero | kNan))
    return std::nullopt;
  m.carrier = findCarrier(term_, m);
  if (!m.carrier || !canSayWhereMasked(m))
    return std::nullopt;
  return m;
}

bool MaskFinder::dependsOnReduced(AffineExpr e) {
  return llvm::any_of(reduced_.set_bits(), [&](unsigned d) { return e.isFunctionOfDim(d); });
}

/// The factor of a masked term that makes it 0 or NaN, where that is the same at every masked point of one result; null
/// where it is not.
Value MaskFinder::findCarrier(Value term, const Mask &m) {
  while (auto product = term.getDefiningOp<arith::MulFOp>()) {
    if (isFreeOfReduced(term, m))
      break;
    ValueClasses x = m.classes.lookup(product.getLhs()), y = m.classes.lookup(product.getRhs());
    bool left = x && !(x & ~(kZero | kNan));
    if (!left && (!y || (y & ~(kZero | kNan))))
      return {};
    term = left ? product.getLhs() : product.getRhs();
  }
  return isFreeOfReduced(term, m) ? term : Value();
}

/// What the masked value of a select is, where the mask decides it.
static Value chosen(Value v, const Mask &m) {
  while (auto select = v.getDefiningOp<arith::SelectOp>()) {
    ValueClasses c = m.classes.lookup(select.getCondition());
    if (c != kZero && c != kOne)
      break;
    v = c == kOne ? select.getTrueValue() : select.getFalseValue();
  }
  return v;
}

/// The ops that compute `v` under the mask; `ok` becomes false when a reduced index is among their inputs.
SmallPtrSet<Operation *, 16> MaskFinder::sliceOf(Value v, const Mask &m, bool &ok) {
  SmallPtrSet<Operation *, 16> slice;
  SmallVector<Value> work{chosen(v, m)};
  while (!work.empty()) {
    Value next = chosen(work.pop_back_val(), m);
    if (auto arg = dyn_cast<BlockArgument>(next)) {
      ok &= arg.getOwner() != &body_ || !reduced_[arg.getArgNumber()];
      continue;
    }
    Operation *def = next.getDefiningOp();
    if (def->getBlock() != &body_ || !slice.insert(def).second)
      continue;
    llvm::append_range(work, def->getOperands());
  }
  return slice;
}

bool MaskFinder::isFreeOfReduced(Value v, const Mask &m) {
  bool ok = true;
  (void)sliceOf(v, m, ok);
  return ok;
}

/// Whether "this result has a masked point" is a condition on the result's own point: the domain is a box in the reduced
/// dims, or lies between ends along the only one, and the least value of what is compared is attained.
bool MaskFinder::canSayWhereMasked(const Mask &m) {
  AffineExpr form = m.constraint ? m.constraint->form : m.bound->form;
  if (op_.getInit() || op_.getOutMap() || op_.getShape() || op_.getYield().getCondition() || !isSeparable(form, reduced_))
    return false;
  SmallVector<SmallVector<DimRange>> boxes = rangesOfDomain();
  return !boxes.empty() && llvm::all_of(boxes, [&](ArrayRef<DimRange> ranges) {
    return findExtreme(form, false, ranges) && findExtreme(form, true, ranges);
  });
}

/// The domain as what boxes have in common: `rangesOfReduced`, and along the only reduced dim each low end of it with each high end.
/// None where it is something else.
SmallVector<SmallVector<DimRange>> MaskFinder::rangesOfDomain() {
  SmallVector<DimRange> box = rangesOfReduced();
  std::optional<IntegerSet> set = op_.getCondition();
  if (!set)
    return {box};
  if (op_.getNumDims() - parallel_ != 1)
    return {};
  unsigned walked = parallel_;
  SmallVector<AffineExpr> lowers{box[walked].low}, uppers{box[walked].high};
  for (auto [n, e] : llvm::enumerate(set->getConstraints())) {
    // (one point of the dim further, one more or less: its bounds are attained)
    AffineExpr slope =
        simplifyAffineExpr(e.replace(getAffineDimExpr(walked, set->getContext()), getAffineDimExpr(walked, set->getContext()) + 1) - e,
                           op_.getNumDims(), symbols_);
    auto step = dyn_cast<AffineConstantExpr>(slope);
    if (set->isEq(unsigned(n)) || !step || std::abs(step.getValue()) != 1)
      return {};
    unsigned one[] = {unsigned(n)};
    IndexBounds bounds = findBounds(select(*set, one), walked, box);
    llvm::append_range(lowers, bounds.lowers);
    llvm::append_range(uppers, bounds.uppers);
  }
  if (lowers.size() + uppers.size() != 2 + set->getNumConstraints())
    return {};
  SmallVector<SmallVector<DimRange>> boxes;
  for (AffineExpr low : lowers)
    for (AffineExpr high : uppers) {
      boxes.push_back(box);
      boxes.back()[walked] = {low, high};
    }
  return boxes;
}

/// A parallel dim is itself, a reduced one anything below its extent.
SmallVector<DimRange> MaskFinder::rangesOfReduced() {
  SmallVector<DimRange> ranges;
  MLIRContext *c = op_->getContext();
  for (unsigned d = 0; d < op_.getNumDims(); ++d) {
    AffineExpr self = getAffineDimExpr(d, c);
    ranges.push_back(d < parallel_ ? DimRange{self, self} : DimRange{getAffineConstantExpr(0, c), op_.getExtents().getResult(d) - 1});
  }
  return ranges;
}

Value MaskFinder::addMasked(OpBuilder &b, Value result, const Mask &m, Operation *&sum) {
  Location loc = op_.getLoc();
  AffineMap extents = op_.getExtents();
  auto of = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, symbols_, e, b.getContext()); };
  auto compute = ComputeOp::create(b, loc, result.getType(), b.getArrayAttr(op_.getIndices().getValue().take_front(parallel_)),
                                   of(extents.getResults().take_front(parallel_)), IntegerSetAttr(), Value(), AffineMapAttr(),
                                   AffineMapAttr(), op_.getNameAttr(), false);
  Block &block = compute.getBody().emplaceBlock();
  IRMapping mapping;
  for (unsigned d = 0; d < parallel_; ++d)
    mapping.map(body_.getArgument(d), block.addArgument(b.getIndexType(), body_.getArgument(d).getLoc()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  auto args = block.getArguments();
  Type type = cast<RankedTensorType>(result.getType()).getElementType();
  Value read = ReadOp::create(b, loc, type, result, llvm::to_vector_of<Value>(args), AffineMapAttr(),
                              BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  sum = read.getDefiningOp();
  bool ok = true;
  SmallPtrSet<Operation *, 16> slice = sliceOf(m.carrier, m, ok);
  if (m.bound)
    slice.insert_range(sliceOf(m.bound->bound, m, ok));
  for (Operation &op : body_) {
    if (!slice.contains(&op))
      continue;
    IRMapping operands;
    for (Value v : op.getOperands())
      operands.map(v, mapping.lookupOrDefault(chosen(v, m)));
    Operation *clone = b.clone(op, operands);
    mapping.map(op.getResults(), clone->getResults());
  }
  Value carrier = mapping.lookupOrDefault(chosen(m.carrier, m));
  Value masked = isSomewhereMasked(b, m, args, m.bound ? mapping.lookupOrDefault(chosen(m.bound->bound, m)) : Value(), loc);
  Value zero = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(type)));
  Value term = arith::SelectOp::create(b, loc, masked, carrier, zero);
  YieldOp::create(b, loc, arith::AddFOp::create(b, loc, read, term).getResult(), Value());
  return compute.getResult();
}

Value MaskFinder::isSomewhereMasked(OpBuilder &b, const Mask &m, ValueRange parallel, Value bound, Location loc) {
  Value masked;
  for (ArrayRef<DimRange> ranges : rangesOfDomain()) {
    Value here = isMaskedIn(b, m, ranges, parallel, bound, loc);
    masked = masked ? arith::AndIOp::create(b, loc, masked, here).getResult() : here;
  }
  return masked;
}

/// Whether a point of a box may be masked, and there are some.
Value MaskFinder::isMaskedIn(OpBuilder &b, const Mask &m, ArrayRef<DimRange> ranges, ValueRange parallel, Value bound, Location loc) {
  using P = arith::CmpIPredicate;
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  auto endOf = [&](AffineExpr form, bool high) -> Value {
    return materialize(b, loc, simplifyAffineExpr(findExtreme(form, high, ranges), op_.getNumDims(), symbols_), parallel, symbols_);
  };
  Value masked;
  auto orWhere = [&](Value left, P relation, Value right) {
    Value here = arith::CmpIOp::create(b, loc, relation, left, right);
    masked = masked ? arith::OrIOp::create(b, loc, masked, here).getResult() : here;
  };
  if (m.constraint) {
    orWhere(endOf(m.constraint->form, false), P::slt, zero);
    if (m.constraint->isEquality)
      orWhere(endOf(m.constraint->form, true), P::sgt, zero);
  } else {
    // The bound is violated somewhere if it is at the end that it excludes first.
    P relation = m.bound->relation;
    auto end = [&](bool high) {
      Value v = endOf(m.bound->form, high);
      return bound.getType().isIndex() ? v : arith::IndexCastOp::create(b, loc, bound.getType(), v).getResult();
    };
    if (relation != P::sge && relation != P::sgt)
      orWhere(end(/*high=*/true), relation == P::slt ? P::sge : P::sgt, bound);
    if (relation != P::sle && relation != P::slt)
      orWhere(end(/*high=*/false), relation == P::sgt ? P::sle : P::slt, bound);
  }
  for (unsigned d : reduced_.set_bits()) {
    AffineExpr points = simplifyAffineExpr(ranges[d].high - ranges[d].low + 1, op_.getNumDims(), symbols_);
    Value extent = materialize(b, loc, points, parallel, symbols_);
    masked = arith::AndIOp::create(b, loc, masked, arith::CmpIOp::create(b, loc, P::sgt, extent, zero));
  }
  return masked;
}

void restrict(ReduceOp op, Mask &mask, Value lhs, Value rhs, OpBuilder &b) {
  if (mask.constraint) {
    IntegerSet set = IntegerSet::get(op.getNumDims(), op.getExtents().getNumSymbols(), mask.constraint->form, mask.constraint->isEquality);
    return op.setCondition(intersect(op.getCondition(), set));
  }
  YieldOp yield = op.getYield();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(yield);
  Location loc = mask.compare.getLoc();
  arith::CmpIPredicate relation = mask.compare.getPredicate();
  Value holds = arith::CmpIOp::create(b, loc, mask.masking ? arith::invertPredicate(relation) : relation, lhs, rhs);
  if (Value condition = yield.getCondition())
    holds = arith::AndIOp::create(b, loc, condition, holds);
  yield.getConditionMutable().assign(holds);
}

} // namespace kernelc::te

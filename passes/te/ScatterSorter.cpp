// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/ScatterSorter.h"

#include "ir/te/Hints.h"
#include "ir/te/Limits.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Reduction.h"

using namespace mlir;

namespace kernelc::te {

/// A dim that is one subscript alone, and runs over all of it, is carried: the same for all rows.
void ScatterSorter::shareOutDims() {
  AffineMap extents = op_.getExtents(), shape = op_.getShape();
  carriedBy_.assign(extents.getNumResults(), -1);
  carriedDim_.assign(shape.getNumResults(), -1);
  llvm::BitVector elsewhere(extents.getNumResults());
  for (Value s : op_.getSubscripts())
    if (!findIndex(op_, s))
      elsewhere |= findSupport(s, extents.getNumResults());
  for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
    if (std::optional<unsigned> d = findIndex(op_, s);
        d && carriedBy_[*d] < 0 && !elsewhere[*d] && extents.getResult(*d) == shape.getResult(r)) {
      carriedBy_[*d] = int64_t(r);
      carriedDim_[r] = *d;
    }
  points_ = rows_ = number(1);
  for (auto [d, e] : llvm::enumerate(extents.getResults()))
    if (carriedBy_[d] < 0)
      points_ = points_ * e;
  for (auto [r, e] : llvm::enumerate(shape.getResults()))
    if (carriedDim_[r] < 0)
      rows_ = rows_ * e;
}

LogicalResult ScatterSorter::checkSizes() {
  int64_t points = knownMax(points_, facts_), rows = knownMax(rows_, facts_);
  if (points >= int64_t(1) << kPointBits || rows >= int64_t(1) << (63 - kPointBits))
    return op_.emitError() << "a scatter whose order counts sorts fewer than 2^" << kPointBits << " points into fewer than 2^"
                           << 63 - kPointBits << " rows; here there may be " << (points < 0 ? "any number" : std::to_string(points))
                           << " and " << (rows < 0 ? "any number" : std::to_string(rows)) << ": 'order(any)' has no such limit";
  // Sizes that are open are asked by each launch.
  std::string name = op_.getName().value_or("scatter").str();
  auto kernel = op_->getParentOfType<KernelOp>();
  if (points < 0)
    addLimit(kernel, {points_, int64_t(1) << kPointBits, "points sorted for '" + name + "'"});
  if (rows < 0)
    addLimit(kernel, {rows_, int64_t(1) << (63 - kPointBits), "rows sorted for '" + name + "'"});
  return success();
}

RankedTensorType ScatterSorter::typeOf(ArrayRef<AffineExpr> shape, Type element) {
  return RankedTensorType::get(llvm::map_to_vector(shape,
                                                   [](AffineExpr e) {
                                                     auto c = dyn_cast<AffineConstantExpr>(e);
                                                     return c && c.getValue() >= 0 ? c.getValue() : ShapedType::kDynamic;
                                                   }),
                               element);
}

void ScatterSorter::fill(Region &region, unsigned dims, llvm::function_ref<void(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  Block &block = region.emplaceBlock();
  for (unsigned d = 0; d < dims; ++d)
    block.addArgument(b.getIndexType(), loc());
  b.setInsertionPointToStart(&block);
  body(block.getArguments());
}

Value ScatterSorter::makeCompute(const Twine &name, AffineExpr extent, Type element, llvm::function_ref<Value(Value)> body) {
  auto op = ComputeOp::create(b, loc(), typeOf(extent, element), b.getStrArrayAttr({"p"}), over(extent), IntegerSetAttr(), Value(),
                              AffineMapAttr(), AffineMapAttr(), named(name), false);
  setOwnLaunch(op);
  fill(op.getBody(), 1, [&](ValueRange at) { YieldOp::create(b, loc(), ValueRange{body(at[0])}, Value()); });
  return op.getResult();
}

IntegerSetAttr ScatterSorter::setOf(ArrayRef<AffineExpr> where, unsigned dims, unsigned symbols) {
  SmallVector<bool> equalities(where.size(), false);
  return where.empty() ? IntegerSetAttr() : IntegerSetAttr::get(IntegerSet::get(dims, symbols, where, equalities));
}

Value ScatterSorter::makeSum(const Twine &name, ArrayRef<AffineExpr> extents, unsigned parallel, Type element, ArrayRef<AffineExpr> where,
                             Body body) {
  SmallVector<StringRef> indices = {"p", "q", "s"};
  auto op = ReduceOp::create(b, loc(), typeOf(extents.take_front(parallel), element), Combiner::Sum,
                             b.getStrArrayAttr(ArrayRef(indices).take_front(extents.size())), parallel, over(extents),
                             setOf(where, extents.size(), symbols_), Value(), AffineMapAttr(), AffineMapAttr(), named(name));
  setOwnLaunch(op);
  fill(op.getBody(), extents.size(), [&](ValueRange at) { YieldOp::create(b, loc(), body(at), Value()); });
  return op.getResult();
}

Value ScatterSorter::makePermuted(const Twine &name, ArrayRef<AffineExpr> extents, ArrayRef<AffineExpr> where, Body body) {
  SmallVector<StringRef> indices = {"p", "q"};
  auto op = ScatterOp::create(b, loc(), typeOf(points_, b.getI64Type()), CombinerAttr(),
                              b.getStrArrayAttr(ArrayRef(indices).take_front(extents.size())), over(extents),
                              setOf(where, extents.size(), symbols_), Value(), over(points_), named(name), false, false);
  fill(op.getBody(), extents.size(), [&](ValueRange at) { YieldOp::create(b, loc(), body(at), Value()); });
  return op.getResult();
}

Value ScatterSorter::read(Value tensor, ValueRange operands, AffineExpr subscript, bool padded) {
  Value padding = padded ? integer(std::numeric_limits<int64_t>::max()) : Value();
  return ReadOp::create(b, loc(), cast<RankedTensorType>(tensor.getType()).getElementType(), tensor, operands,
                        subscript ? AffineMapAttr::get(over(subscript, operands.size())) : AffineMapAttr(),
                        BoundsModeAttr::get(b.getContext(), padded ? BoundsMode::Pad : BoundsMode::Assume), padding);
}

IRMapping ScatterSorter::cloneBody(ArrayRef<Value> roots, ValueRange indices, bool padded) {
  IRMapping mapping;
  for (auto [argument, v] : llvm::zip(op_.getBlock().getArguments(), indices))
    if (v)
      mapping.map(argument, v);
  llvm::SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &op_.getBlock(); };
  for (Value root : roots)
    if (root && root.getDefiningOp() && root.getParentBlock() == &op_.getBlock())
      (void)getBackwardSlice(root, &needed, options);
  for (Operation &op : op_.getBlock().without_terminator()) {
    if (!needed.contains(&op))
      continue;
    auto r = dyn_cast<ReadOp>(b.clone(op, mapping));
    if (!padded || !r || (r.getBounds() != BoundsMode::InBounds && r.getBounds() != BoundsMode::Assume))
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(r);
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(r.getResult().getType()));
    auto whole = ReadOp::create(b, r.getLoc(), r.getResult().getType(), r.getTensor(), r.getOperands_(), r.getMapAttr(),
                                BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
    mapping.map(op.getResult(0), whole.getResult());
    r.erase();
  }
  return mapping;
}

SmallVector<Value> ScatterSorter::indicesOf(Value point) {
  AffineMap extents = op_.getExtents();
  SmallVector<Value> indices(extents.getNumResults());
  AffineExpr left = points_;
  for (unsigned d = 0; d < extents.getNumResults(); ++d) {
    if (carriedBy_[d] >= 0)
      continue;
    AffineExpr inner = number(1); // points of the dims behind this one
    for (unsigned k = d + 1; k < extents.getNumResults(); ++k)
      if (carriedBy_[k] < 0)
        inner = inner * extents.getResult(k);
    bool isFirst = left == points_;
    AffineExpr at = inner == number(1) ? dim(0) : dim(0).floorDiv(inner);
    indices[d] = value(isFirst ? at : at % extents.getResult(d), point);
    left = inner;
  }
  return indices;
}

bool ScatterSorter::isCarried(Value v) {
  llvm::BitVector support = findSupport(v, op_.getNumDims());
  return llvm::any_of(support.set_bits(), [&](unsigned d) { return carriedBy_[d] >= 0; });
}

SmallVector<Value> ScatterSorter::conditionRoots(bool carried) {
  Value condition = op_.getYield().getCondition();
  return condition && isCarried(condition) == carried ? SmallVector<Value>{condition} : SmallVector<Value>();
}

Value ScatterSorter::conditionAt(ValueRange indices, IRMapping &body, bool carried) {
  Value all;
  if (std::optional<IntegerSet> set = op_.getCondition())
    for (unsigned i = 0; i < set->getNumConstraints(); ++i) {
      llvm::BitVector dims(op_.getNumDims());
      collectDims(set->getConstraint(i), dims);
      if (llvm::any_of(dims.set_bits(), [&](unsigned d) { return carriedBy_[d] >= 0; }) != carried)
        continue;
      SmallVector<Value> operands; // those that are not known here are not mentioned
      for (Value v : indices)
        operands.push_back(v ? v : index(0));
      auto relation = set->isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
      all = both(all, compare(relation, value(set->getConstraint(i), operands), index(0)));
    }
  for (Value c : conditionRoots(carried))
    all = both(all, body.lookupOrDefault(c));
  return all;
}

Value ScatterSorter::startOf() {
  auto filled = op_.getInit().getDefiningOp<ComputeOp>();
  auto constant = filled && isDefinition(filled) ? filled.getYield().getValues()[0].getDefiningOp<arith::ConstantOp>() : nullptr;
  bool isIdentity = constant && constant.getValue() == identityOf(*op_.getKind(), constant.getType(), b);
  return isIdentity ? Value() : op_.getInit();
}

void ScatterSorter::replaceBy(Operation *sum) {
  Operation *init = op_.getInit().getDefiningOp();
  op_.replaceAllUsesWith(sum);
  op_.erase();
  if (init && init->use_empty())
    init->erase();
}

} // namespace kernelc::te

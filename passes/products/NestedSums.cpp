// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See NestedSums.h.
#include "passes/products/NestedSums.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/products/SumBody.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

bool isPlainSum(ReduceOp reduce) {
  return reduce.getKind() == Combiner::Sum && !reduce.getInit() && !reduce.getOutMap() && !reduce.getCondition() &&
         !reduce.getYield().getCondition() && isa<FloatType>(reduce.getResult().getType().getElementType());
}

/// The dims of `outer` at which `read` asks for an element, all of them different; nothing where it asks otherwise.
std::optional<SmallVector<unsigned>> findPoint(ReduceOp outer, ReadOp read) {
  SmallVector<unsigned> point;
  if (read.getBounds() != BoundsMode::InBounds || !read.getMapOrIdentity().isIdentity())
    return std::nullopt;
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(outer, v);
    if (!d || llvm::is_contained(point, *d))
      return std::nullopt;
    point.push_back(*d);
  }
  return point;
}

/// Whether `nested` has a path from its read to what is summed: false where the terms are no linear function of what is read.
bool findPath(NestedSum &nested) {
  ReduceOp outer = nested.outer;
  unsigned dims = outer.getNumDims(), parallel = outer.getNumParallel();
  bool isProduct = true;
  for (Value v = nested.read.getResult();;) {
    if (!v.hasOneUse())
      return false;
    OpOperand &use = *v.getUses().begin();
    Operation *op = use.getOwner();
    if (isa<YieldOp>(op))
      return isProduct || !nested.isScaled;
    bool multiplies = isa<arith::MulFOp>(op), isFactor = multiplies || (isa<arith::DivFOp>(op) && use.getOperandNumber() == 0);
    if (!isFactor && !isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
      return false;
    isProduct &= multiplies;
    nested.isScaled |= isFactor && findSupport(op->getOperand(1 - use.getOperandNumber()), dims).find_next(int(parallel) - 1) >= 0;
    nested.path.push_back(&use);
    v = op->getResult(0);
  }
}

Value cloneValue(OpBuilder &b, ReduceOp reduce, Value v, IRMapping &mapping) {
  cloneTerms(b, reduce, v, mapping);
  return mapping.lookupOrDefault(v);
}

/// The sum of `v`, a value of outer's body, over all that `outer` sums, read at the point of `mapping`; `b` stands in the body that asks,
/// of `reader`.
Value sumOf(OpBuilder &b, ComputeOp reader, ReduceOp outer, Value v, const IRMapping &mapping) {
  llvm::BitVector support = findSupport(v, outer.getNumDims());
  SmallVector<unsigned> dims;
  SmallVector<Value> point;
  for (unsigned d = 0; d < outer.getNumParallel(); ++d)
    if (support[d]) {
      dims.push_back(d);
      point.push_back(mapping.lookup(outer.getBlock().getArgument(d)));
    }
  unsigned parallel = dims.size();
  for (unsigned d = outer.getNumParallel(); d < outer.getNumDims(); ++d)
    dims.push_back(d);
  OpBuilder before(reader);
  Type element = v.getType();
  auto sum = ReduceOp::create(before, outer.getLoc(), RankedTensorType::get(SmallVector<int64_t>(parallel, ShapedType::kDynamic), element),
                              Combiner::Sum, indicesOf(outer, dims), parallel, extentsOf(outer, dims), IntegerSetAttr(), Value(),
                              AffineMapAttr(), AffineMapAttr(), StringAttr());
  sum.setAnyOrder(outer.getAnyOrder());
  Block &block = sum.getBody().emplaceBlock();
  IRMapping inside;
  for (unsigned d : dims)
    inside.map(outer.getBlock().getArgument(d), block.addArgument(b.getIndexType(), outer.getBlock().getArgument(d).getLoc()));
  before.setInsertionPointToStart(&block);
  Value value = cloneValue(before, outer, v, inside);
  YieldOp::create(before, outer.getLoc(), value, Value());
  return ReadOp::create(b, outer.getLoc(), element, sum.getResult(), point, AffineMapAttr(),
                        BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
}

} // namespace

std::optional<NestedSum> findNestedSum(ReduceOp outer) {
  if (!isPlainSum(outer))
    return std::nullopt;
  for (ReadOp read : outer.getBlock().getOps<ReadOp>()) {
    auto inner = read.getTensor().getDefiningOp<ReduceOp>();
    NestedSum nested{outer, inner, read, {}};
    if (!inner || !isPlainSum(inner) || !inner.getResult().hasOneUse() || !findPath(nested))
      continue;
    std::optional<SmallVector<unsigned>> point = findPoint(outer, read);
    bool sumsAll = point && llvm::all_of(llvm::seq(outer.getNumParallel(), outer.getNumDims()),
                                         [&](unsigned d) { return llvm::is_contained(*point, d); });
    if (sumsAll && outer.getNumDims() > outer.getNumParallel())
      return nested;
  }
  return std::nullopt;
}

ReduceOp writeJointSum(const NestedSum &nested) {
  ReduceOp outer = nested.outer, inner = nested.inner;
  SmallVector<unsigned> point = *findPoint(outer, nested.read);
  OpBuilder b(outer);
  SmallVector<Attribute> names(outer.getIndices().getValue());
  SmallVector<AffineExpr> extents(outer.getExtents().getResults());
  for (unsigned d = inner.getNumParallel(); d < inner.getNumDims(); ++d) {
    names.push_back(inner.getIndices()[d]);
    extents.push_back(inner.getExtents().getResult(d));
  }
  RankedTensorType type = outer.getResult().getType();
  auto joint = ReduceOp::create(b, inner.getLoc(), type, Combiner::Sum, b.getArrayAttr(names), outer.getNumParallel(),
                                AffineMap::get(0, outer.getExtents().getNumSymbols(), extents, b.getContext()), IntegerSetAttr(), Value(),
                                AffineMapAttr(), nested.isScaled ? outer.getShapeAttr() : AffineMapAttr(),
                                nested.isScaled ? outer.getNameAttr() : StringAttr());
  joint.setAnyOrder(inner.getAnyOrder());
  Block &block = joint.getBody().emplaceBlock();
  for (size_t d = 0; d < extents.size(); ++d)
    block.addArgument(b.getIndexType(), joint.getLoc());
  IRMapping mapping;
  for (auto [d, at] : llvm::enumerate(point))
    mapping.map(inner.getBlock().getArgument(d), block.getArgument(at));
  for (unsigned d = inner.getNumParallel(); d < inner.getNumDims(); ++d)
    mapping.map(inner.getBlock().getArgument(d), block.getArgument(outer.getNumDims() + d - inner.getNumParallel()));
  b.setInsertionPointToStart(&block);
  for (Operation &op : inner.getBlock().without_terminator())
    b.clone(op, mapping);
  Value term = mapping.lookupOrDefault(inner.getYield().getValues()[0]);
  IRMapping scales;
  for (unsigned d = 0; d < outer.getNumDims(); ++d)
    scales.map(outer.getBlock().getArgument(d), block.getArgument(d));
  if (nested.isScaled)
    for (OpOperand *use : nested.path)
      term = arith::MulFOp::create(b, joint.getLoc(), term,
                                   cloneValue(b, outer, use->getOwner()->getOperand(1 - use->getOperandNumber()), scales));
  YieldOp::create(b, joint.getLoc(), term, Value());
  return joint;
}

void replaceBySum(const NestedSum &nested, Value sum) {
  ReduceOp outer = nested.outer, inner = nested.inner;
  if (nested.isScaled) {
    outer.getResult().replaceAllUsesWith(sum);
    outer.erase();
    inner.erase();
    return;
  }
  Location loc = outer.getLoc();
  OpBuilder at(outer);
  unsigned parallel = outer.getNumParallel();
  SmallVector<unsigned> dims = llvm::to_vector(llvm::seq(0u, parallel));
  auto total = ComputeOp::create(at, loc, outer.getResult().getType(), indicesOf(outer, dims), extentsOf(outer, dims), IntegerSetAttr(),
                                 Value(), AffineMapAttr(), outer.getShapeAttr(), outer.getNameAttr(), false);
  Block &block = total.getBody().emplaceBlock();
  IRMapping mapping;
  SmallVector<Value> point;
  for (unsigned d : dims) {
    point.push_back(block.addArgument(at.getIndexType(), outer.getBlock().getArgument(d).getLoc()));
    mapping.map(outer.getBlock().getArgument(d), point.back());
  }
  OpBuilder b = OpBuilder::atBlockBegin(&block);
  Value value = ReadOp::create(b, loc, outer.getResult().getType().getElementType(), sum, point, AffineMapAttr(),
                               BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  for (OpOperand *use : nested.path) {
    Operation *op = use->getOwner();
    IRMapping step;
    step.map(use->get(), value);
    if (op->getNumOperands() == 2) {
      Value other = op->getOperand(1 - use->getOperandNumber());
      bool isTerm = isa<arith::AddFOp, arith::SubFOp>(op);
      step.map(other, isTerm ? sumOf(b, total, outer, other, mapping) : cloneValue(b, outer, other, mapping));
    }
    value = b.clone(*op, step)->getResult(0);
  }
  YieldOp::create(b, loc, value, Value());
  outer.getResult().replaceAllUsesWith(total.getResult());
  outer.erase();
  inner.erase();
}

} // namespace kernelc::te

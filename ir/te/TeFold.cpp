// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier and accessors of te.fold. The labels [C1].. are those of TeFold.td.
#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "ir/te/VerifyIndices.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::te;

YieldOp FoldOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }
YieldOp FoldOp::getCombined() { return cast<YieldOp>(getCombine().front().getTerminator()); }

AffineMap FoldOp::getResultShape() {
  AffineMap e = getExtents();
  return AffineMap::get(0, e.getNumSymbols(), e.getResults().take_front(getNumParallel()), getContext());
}

AffineMap FoldOp::getOutMapOrIdentity() {
  AffineMap plain = AffineMap::getMultiDimIdentityMap(getNumParallel(), getContext());
  return AffineMap::get(getNumParallel(), getExtents().getNumSymbols(), plain.getResults(), getContext());
}

static LogicalResult verifyCombine(FoldOp op) { // [C2]
  Block &combine = op.getCombine().front();
  auto yield = dyn_cast<YieldOp>(op.getBlock().getTerminator());
  auto next = dyn_cast<YieldOp>(combine.getTerminator());
  if (!yield || !next || next.getCondition())
    return op.emitOpError() << "[C2] both regions must end in a te.yield, that of combine without a condition";
  SmallVector<Type> state, arguments;
  for (Attribute a : op.getIdentity()) {
    auto typed = dyn_cast<TypedAttr>(a);
    if (!typed || !typed.getType().isIntOrFloat())
      return op.emitOpError() << "[C2] identity must have a number per component, not " << a;
    state.push_back(typed.getType());
  }
  arguments = state;
  llvm::append_range(arguments, yield.getValues().getTypes());
  if (state.empty() || TypeRange(combine.getArgumentTypes()) != TypeRange(arguments) || next.getValues().getTypes() != TypeRange(state))
    return op.emitOpError() << "[C2] combine must take the " << state.size() << " components and then the " << yield.getValues().size()
                            << " values of an element, and yield the components";
  if (op.getMonoid() && yield.getValues().getTypes() != TypeRange(state))
    return op.emitOpError() << "[C2] the elements of a monoid must be states";
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  if (failed(verifyIndices(*this)))
    return failure();
  if (getParallel() > uint64_t(getNumDims()))
    return emitOpError() << "[C1] has more parallel dims than indices";
  if (failed(verifyCombine(*this)))
    return failure();
  if (getFields().size() != getNumResults() || getNumResults() == 0)
    return emitOpError() << "[C3] has " << getFields().size() << " fields and " << getNumResults() << " results";
  for (auto [field, result] : llvm::zip(getFields(), getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (field < 0 || field >= int64_t(getNumComponents()))
      return emitOpError() << "[C3] has no component " << field;
    if (type.getRank() != int64_t(getNumParallel()) || type.getElementType() != getComponentType(unsigned(field)))
      return emitOpError() << "[C3] the result of component " << field << " must have " << getNumParallel() << " dims of type "
                           << getComponentType(unsigned(field));
  }
  if (getCommutative() && !getMonoid())
    return emitOpError() << "[C4] is commutative and no monoid";
  if (getDescending()) {
    std::optional<Scan> scan = findScanOf(*this);
    if (!scan || !scan->reverse)
      return emitOpError() << "[C5] is descending and no scan from the end";
  }
  return success();
}

///   %a, %b = te.fold .. fields [0, 1]   with %a unused   =>   %b = te.fold .. fields [1]
LogicalResult FoldOp::canonicalize(FoldOp op, PatternRewriter &rewriter) {
  SmallVector<int64_t> fields;
  SmallVector<Type> types;
  for (auto [field, result] : llvm::zip(op.getFields(), op.getResults()))
    if (!result.use_empty()) {
      fields.push_back(field);
      types.push_back(result.getType());
    }
  if (fields.size() == op.getNumResults() || fields.empty())
    return failure();
  auto smaller = FoldOp::create(rewriter, op.getLoc(), types, op.getIndices(), op.getParallel(), op.getExtents(), op.getConditionAttr(),
                                op.getIdentity(), fields, op.getMonoid(), op.getCommutative(), op.getDescending(), op.getNameAttr());
  copyHints(op, smaller);
  rewriter.inlineRegionBefore(op.getElement(), smaller.getElement(), smaller.getElement().end());
  rewriter.inlineRegionBefore(op.getCombine(), smaller.getCombine(), smaller.getCombine().end());
  unsigned kept = 0;
  for (Value result : op.getResults())
    if (!result.use_empty())
      rewriter.replaceAllUsesWith(result, smaller.getResult(kept++));
  rewriter.eraseOp(op);
  return success();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ops on tiles fold to, and what is simpler than them. Passes make values without thought for it.
#include "ir/tile/Tile.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::tile;

Operation *TileDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(b, value, type, loc);
}

/// A tile of `type`, all of it `element`; null where it has other ones (in text that no function's verifier has seen).
static OpFoldResult splatOf(Type type, Attribute element) {
  auto tile = dyn_cast<RankedTensorType>(type);
  auto typed = dyn_cast_or_null<TypedAttr>(element);
  if (!tile || !tile.hasStaticShape() || !typed || typed.getType() != tile.getElementType())
    return {};
  return SplatElementsAttr::get(tile, element);
}

/// The same of the one element that all of `tile` is.
static OpFoldResult repeat(Attribute tile, Type type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(tile);
  return splat ? splatOf(type, splat.getSplatValue<Attribute>()) : OpFoldResult();
}

/// A number stays a form, though it be a constant: passes ask where a loop ends for the form of its index's extent.
OpFoldResult ApplyOp::fold(FoldAdaptor) {
  if (getMap().getNumResults() != 1 || getMap().getNumDims() != getOperands().size())
    return {};
  auto d = dyn_cast<AffineDimExpr>(getMap().getResult(0));
  return d ? getOperand(d.getPosition()) : Value();
}

OpFoldResult InsideOp::fold(FoldAdaptor) {
  return getMask().empty() ? splatOf(getType(), BoolAttr::get(getContext(), true)) : OpFoldResult();
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) { return splatOf(getType(), adaptor.getInput()); }

OpFoldResult ElementOp::fold(FoldAdaptor adaptor) {
  if (auto splat = getInput().getDefiningOp<SplatOp>())
    return splat.getInput();
  auto constant = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput());
  return constant ? constant.getSplatValue<Attribute>() : OpFoldResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  return getInput().getType() == getType() ? getInput() : repeat(adaptor.getInput(), getType());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  return getInput().getType() == getType() ? getInput() : repeat(adaptor.getInput(), getType());
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  return getInput().getType() == getType() ? getInput() : repeat(adaptor.getInput(), getType());
}

OpFoldResult MaskOp::fold(FoldAdaptor adaptor) { return matchPattern(adaptor.getAll(), m_One()) ? getValue() : OpFoldResult(); }

LogicalResult RingMaskOp::canonicalize(RingMaskOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getAll(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

/// A sum or an extreme of NaN everywhere is one.
LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter &rewriter) {
  SplatElementsAttr splat;
  bool keepsNan = op.getKind() == te::Combiner::Sum || op.getKind() == te::Combiner::Max || op.getKind() == te::Combiner::Min;
  if (!keepsNan || !matchPattern(op.getInputs()[0], m_Constant(&splat)))
    return failure();
  auto element = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>());
  if (!element || !element.getValue().isNaN())
    return failure();
  auto type = cast<ShapedType>(op.getResult(0).getType());
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, SplatElementsAttr::get(type, Attribute(element)));
  return success();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers, printers and folds of the te ops. The labels [C1].. are those of the
// op descriptions in TeOps.td.
#include "ir/te/Faults.h"
#include "ir/te/Te.h"

#include "ir/te/Combiners.h"
#include "ir/te/KernelVerifier.h"
#include "ir/te/TeShape.h"
#include "ir/te/VerifyIndices.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::te;

#define GET_OP_CLASSES
#include "ir/te/TeOps.cpp.inc"

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ReturnOp KernelOp::getReturn() { return cast<ReturnOp>(getBlock().getTerminator()); }
StringRef KernelOp::getSizeName(unsigned i) { return cast<StringAttr>(getSizes()[i]).getValue(); }
AffineMap KernelOp::getArgShape(unsigned i) { return cast<AffineMapAttr>(getArgShapes()[i]).getValue(); }
AffineMap KernelOp::getOutShape(unsigned i) { return cast<AffineMapAttr>(getOutShapes()[i]).getValue(); }
int64_t KernelOp::getAlias(unsigned out) {
  auto alias = getOutAlias();
  return out < alias.size() ? alias[out] : -1;
}

void ReturnOp::build(OpBuilder &, OperationState &) {}

namespace {

/// [C2], [C3] for one group of parameters.
LogicalResult verifyParams(KernelOp op, StringRef group, ArrayAttr names, ArrayAttr types, ArrayAttr shapes, TypeRange values) {
  if (names.size() != values.size() || types.size() != values.size() || shapes.size() != values.size())
    return op.emitOpError() << "[C1] has " << values.size() << " " << group << " but " << names.size() << " names, " << types.size()
                            << " types and " << shapes.size() << " shapes";
  for (auto [i, type] : llvm::enumerate(values)) {
    auto spelled = cast<StringAttr>(types[i]).getValue();
    auto element = findElementType(absl::string_view(spelled.data(), spelled.size()));
    if (!element)
      return op.emitOpError() << "unknown element type '" << spelled << "' of " << group << " " << i;
    AffineMap shape = cast<AffineMapAttr>(shapes[i]).getValue();
    if (shape.getNumDims() != 0 || shape.getNumSymbols() != op.getNumSizes())
      return op.emitOpError() << "[C2] the shape of " << group << " " << i << " must have no dims and one symbol per size";
    auto tensor = dyn_cast<RankedTensorType>(type);
    unsigned rank = tensor ? tensor.getRank() : 0;
    if (shape.getNumResults() != rank)
      return op.emitOpError() << "[C3] " << group << " " << i << " has rank " << rank << " but its shape has " << shape.getNumResults()
                              << " dims";
    Type stored = tensor ? tensor.getElementType() : type;
    if (stored != getStorageType(op.getContext(), *element))
      return op.emitOpError() << "[C3] " << group << " " << i << " is spelled " << spelled << " but has type " << type;
  }
  return success();
}

} // namespace

LogicalResult KernelOp::verifyRegions() {
  if (failed(verifyParams(*this, "arguments", getArgNames(), getArgTypes(), getArgShapes(), getBlock().getArgumentTypes())) ||
      failed(verifyParams(*this, "outputs", getOutNames(), getOutTypes(), getOutShapes(), getReturn().getOperandTypes())))
    return failure();
  for (Attribute a : getRequirements()) {
    auto set = dyn_cast<IntegerSetAttr>(a);
    if (!set || set.getValue().getNumDims() != 0 || set.getValue().getNumSymbols() != getNumSizes())
      return emitOpError() << "[C2] a requirement must be an integer set without dims over the sizes";
  }
  if (!getOutAlias().empty() && getOutAlias().size() != getOutNames().size())
    return emitOpError() << "[C1] has " << getOutNames().size() << " outputs but " << getOutAlias().size() << " entries of out_alias";
  for (unsigned i = 0, e = getReturn().getNumOperands(); i < e; ++i) {
    int64_t arg = getAlias(i);
    if (arg < 0)
      continue;
    if (arg >= int64_t(getBlock().getNumArguments()) || getBlock().getArgument(arg).getType() != getReturn().getOperand(i).getType() ||
        getArgShape(arg) != getOutShape(i))
      return emitOpError() << "[C4] output " << i << " and the argument it updates differ in type or shape";
  }
  if (!hasValidFaults(*this))
    return emitOpError() << "[C9] 'faults' must be a list of records with 'at', 'what', 'indices', 'lows' and 'extents'";
  return verifyKernelBody(*this);
}

//===----------------------------------------------------------------------===//
// ComputeOp, ReduceOp
//===----------------------------------------------------------------------===//

namespace {

template <typename OpT> YieldOp yieldOf(OpT op) { return cast<YieldOp>(op.getBlock().getTerminator()); }

template <typename OpT> AffineMap outMapOf(OpT op) {
  if (op.getOutMap())
    return *op.getOutMap();
  unsigned n = op.getNumParallel();
  return AffineMap::get(n, op.getExtents().getNumSymbols(), AffineMap::getMultiDimIdentityMap(n, op.getContext()).getResults(),
                        op.getContext());
}

template <typename OpT> AffineMap shapeOf(OpT op) {
  if (op.getShape())
    return *op.getShape();
  AffineMap e = op.getExtents();
  return AffineMap::get(0, e.getNumSymbols(), e.getResults().take_front(op.getNumParallel()), op.getContext());
}

template <typename OpT> LogicalResult verifyDomain(OpT op) {
  if (failed(verifyIndices(op)))
    return failure();
  KernelOp kernel = getKernel(op);
  unsigned symbols = kernel.getNumSizes();
  AffineMap out = op.getOutMapOrIdentity();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (out.getNumDims() != op.getNumParallel() || out.getNumSymbols() != symbols || out.getNumResults() != unsigned(type.getRank()))
    return op.emitOpError() << "[C2] out_map must go from " << op.getNumParallel() << " indices to the result's " << type.getRank()
                            << " dims";
  AffineMap shape = op.getResultShape();
  if (shape.getNumResults() != unsigned(type.getRank()) || shape.getNumDims() != 0 || shape.getNumSymbols() != symbols)
    return op.emitOpError() << "[C2] shape must give the result's " << type.getRank() << " dims over the sizes";
  if (Value init = op.getInit())
    if (init.getType() != type || !isTensorOf(kernel, init) || getTensorShape(init) != shape)
      return op.emitOpError() << "[C5] init must be an argument of the kernel or what a statement gives, with the result's type " << type
                              << " and its shape";
  auto yield = dyn_cast<YieldOp>(op.getBlock().getTerminator());
  if (!yield || yield.getValues().size() != 1)
    return op.emitOpError() << "[C4] must yield one value";
  return success();
}

} // namespace

YieldOp ComputeOp::getYield() { return yieldOf(*this); }
AffineMap ComputeOp::getOutMapOrIdentity() { return outMapOf(*this); }
AffineMap ComputeOp::getResultShape() { return shapeOf(*this); }

std::optional<unsigned> ComputeOp::findClippedDim(unsigned i) {
  IntegerSet set = *getCondition();
  AffineMap out = getOutMapOrIdentity(), shape = getResultShape();
  if (set.isEq(i))
    return std::nullopt;
  for (auto [r, e] : llvm::enumerate(out.getResults())) {
    AffineExpr left = shape.getResult(r) - 1 - e;
    if (simplifyAffineExpr(left - set.getConstraint(i), set.getNumDims(), set.getNumSymbols()) == getAffineConstantExpr(0, getContext()))
      return r;
  }
  return std::nullopt;
}

LogicalResult ComputeOp::verifyRegions() {
  if (failed(verifyDomain(*this)))
    return failure();
  Type yielded = getYield().getValues()[0].getType();
  if (yielded != getResult().getType().getElementType())
    return emitOpError() << "[C4] yields " << yielded << " into a tensor of " << getResult().getType().getElementType();
  bool covers = !getYield().getCondition();
  if (std::optional<IntegerSet> set = getCondition())
    for (unsigned i = 0; i < set->getNumConstraints(); ++i)
      covers &= findClippedDim(i).has_value();
  if (!covers && !getInit() && !getPartial())
    return emitOpError() << "[C3] a restricted domain needs an init, or the partial flag";
  ArrayRef<int64_t> block = getInBlock();
  if (!block.empty() && (block.size() != 2 || block[0] < 0 || block[1] < 1 || block[1] > int64_t(getNumDims())))
    return emitOpError() << "[C6] has an 'in_block' that is not a set's number and a number of dims, at least one";
  return success();
}

YieldOp ReduceOp::getYield() { return yieldOf(*this); }
AffineMap ReduceOp::getOutMapOrIdentity() { return outMapOf(*this); }
AffineMap ReduceOp::getResultShape() { return shapeOf(*this); }

LogicalResult ReduceOp::verifyRegions() {
  if (getParallel() > uint64_t(getNumDims()))
    return emitOpError() << "[C1] has more parallel dims than indices";
  if (failed(verifyDomain(*this)))
    return failure();
  Type yielded = getYield().getValues()[0].getType();
  Type element = getResult().getType().getElementType();
  if (isArg() && (!element.isInteger(64) || getNumDims() - getNumParallel() != 1))
    return emitOpError() << "[C2] an arg reduction reduces one index and gives i64";
  if (!isArg() && yielded != element)
    return emitOpError() << "[C2] yields " << yielded << " into a tensor of " << element;
  if (!combines(getKind(), yielded))
    return emitOpError() << "[C3] " << stringifyCombiner(getKind()) << " does not reduce " << yielded;
  for (int64_t d : getStreamed())
    if (d < 0 || d >= int64_t(getNumParallel()))
      return emitOpError() << "[C6] has no parallel dim " << d << ", which 'streamed' names";
  return success();
}

//===----------------------------------------------------------------------===//
// ReadOp
//===----------------------------------------------------------------------===//

AffineMap ReadOp::getMapOrIdentity() {
  if (getMap())
    return *getMap();
  unsigned n = getOperands_().size();
  return AffineMap::get(n, getKernel(*this).getNumSizes(), AffineMap::getMultiDimIdentityMap(n, getContext()).getResults(), getContext());
}

LogicalResult ReadOp::verify() {
  auto type = getTensor().getType();
  unsigned n = getOperands_().size();
  KernelOp kernel = getKernel(*this);
  if (!kernel || !isDomainOp((*this)->getParentOp()))
    return emitOpError() << "[C3] must stand in the body of a statement";
  if (getMap() ? (getMap()->getNumDims() != n || getMap()->getNumResults() != unsigned(type.getRank()) ||
                  getMap()->getNumSymbols() != kernel.getNumSizes())
               : n != unsigned(type.getRank()))
    return emitOpError() << "[C1] subscripts must cover the tensor's " << type.getRank() << " dims, by a map with a dim for each of the "
                         << n << " operands and a symbol for each of the kernel's " << kernel.getNumSizes() << " sizes";
  if (!isTensorOf(kernel, getTensor()))
    return emitOpError() << "[C3] reads a tensor that is no argument of the kernel, nor what a statement gives";
  if (getResult().getType() != type.getElementType())
    return emitOpError() << "gives the stored type " << type.getElementType();
  if ((getBounds() == BoundsMode::Pad) != bool(getPadding()) || (getPadding() && getPadding().getType() != type.getElementType()))
    return emitOpError() << "[C2] a padding value of the element type goes with 'pad', and only with it";
  return success();
}

// %x[%i, %j] map affine_map<..> pad %v : tensor<..>
void ReadOp::print(OpAsmPrinter &p) {
  p << " " << getTensor() << "[" << getOperands_() << "]";
  if (getMap())
    p << " map " << getMapAttr();
  if (getBounds() != BoundsMode::InBounds)
    p << " " << stringifyBoundsMode(getBounds());
  if (getPadding())
    p << " " << getPadding();
  p.printOptionalAttrDict((*this)->getAttrs(), {"map", "bounds", "operandSegmentSizes"});
  p << " : " << getTensor().getType();
}

ParseResult ReadOp::parse(OpAsmParser &p, OperationState &state) {
  OpAsmParser::UnresolvedOperand tensor, padding;
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  AffineMapAttr map;
  if (p.parseOperand(tensor) || p.parseOperandList(indices, OpAsmParser::Delimiter::Square))
    return failure();
  if (succeeded(p.parseOptionalKeyword("map"))) {
    if (p.parseAttribute(map))
      return failure();
    state.addAttribute("map", map);
  }
  StringRef mode;
  bool hasPadding = false;
  SMLoc loc = p.getCurrentLocation();
  if (succeeded(p.parseOptionalKeyword(&mode, {"pad", "edge", "reflect", "wrap", "assume", "in_bounds"}))) {
    state.addAttribute("bounds", BoundsModeAttr::get(p.getContext(), *symbolizeBoundsMode(mode)));
    if (mode == "pad") {
      hasPadding = true;
      if (p.parseOperand(padding))
        return failure();
    }
  }
  RankedTensorType type;
  if (p.parseOptionalAttrDict(state.attributes) || p.parseColonType(type) || p.resolveOperand(tensor, type, state.operands) ||
      p.resolveOperands(indices, p.getBuilder().getIndexType(), loc, state.operands))
    return failure();
  if (hasPadding && p.resolveOperand(padding, type.getElementType(), state.operands))
    return failure();
  state.addAttribute("operandSegmentSizes", p.getBuilder().getDenseI32ArrayAttr({1, int32_t(indices.size()), hasPadding}));
  state.addTypes(type.getElementType());
  return success();
}

//===----------------------------------------------------------------------===//
// SizeOp, ConvertOp
//===----------------------------------------------------------------------===//

OpFoldResult SizeOp::fold(FoldAdaptor) {
  if (getMap().getNumResults() != 1)
    return {}; // (where no kernel is around to refuse it)
  if (auto c = dyn_cast<AffineConstantExpr>(getMap().getResult(0)))
    return IntegerAttr::get(IndexType::get(getContext()), c.getValue());
  return {};
}

LogicalResult ConvertOp::verify() {
  Type to = getResult().getType();
  if (to.isInteger() || isa<Float8E4M3FNType, Float8E5M2Type>(to))
    return success();
  return emitOpError() << "converts to integers and f8 types only; " << getInput().getType() << " to " << to << " is arith's";
}

LogicalResult RoundOp::verify() {
  if (!isa<FloatTF32Type>(getTo()) || !getInput().getType().isF32())
    return emitOpError() << "[C1] rounds f32 to tf32, not " << getInput().getType() << " to " << getTo();
  return success();
}

OpFoldResult RoundOp::fold(FoldAdaptor) {
  // What is a tf32 already.
  Operation *def = getInput().getDefiningOp();
  if (isa_and_nonnull<RoundOp>(def))
    return getInput();
  if (auto widened = dyn_cast_or_null<arith::ExtFOp>(def))
    if (Type from = widened.getIn().getType(); from.isF16() || from.isBF16() || from.getIntOrFloatBitWidth() == 8)
      return getInput();
  return {};
}

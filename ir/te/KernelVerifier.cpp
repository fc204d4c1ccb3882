// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a te.kernel asks of all that stands in it: [C5] to [C8] of its description. What an op alone can say its own
// verifier does (TeOps.cpp, TeCascade.cpp).
#include "ir/te/KernelVerifier.h"

#include "ir/te/Marks.h"
#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// What a body computes with: numbers that a tensor, a size or a position can be.
bool isScalar(Type t) {
  if (auto integer = dyn_cast<IntegerType>(t))
    return integer.isSignless() && integer.getWidth() <= 64;
  return t.isIndex() || t.isF64() || t.isF32() || t.isF16() || t.isBF16() || isa<Float8E4M3FNType, Float8E5M2Type>(t);
}

bool isScalarOp(Operation *op) {
  return op->getNumRegions() == 0 && op->getNumResults() == 1 && isScalar(op->getResult(0).getType()) &&
         (isa<arith::ConstantOp, ReadOp, SizeOp, ConvertOp, RoundOp>(op) || op->hasTrait<OpTrait::Elementwise>());
}

bool dividesByPositive(AffineExpr e) {
  auto check = [](AffineExpr sub) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(sub);
    bool divides = binary && llvm::is_contained({AffineExprKind::FloorDiv, AffineExprKind::CeilDiv, AffineExprKind::Mod}, sub.getKind());
    auto by = divides ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
    return by && by.getValue() <= 0 ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !e.walk(check).wasInterrupted();
}

/// Whether all divisors in the maps and sets of an attribute that are constants are positive.
bool dividesByPositive(Attribute a) {
  auto check = [](AffineExpr e) { return dividesByPositive(e); };
  if (auto map = dyn_cast<AffineMapAttr>(a))
    return llvm::all_of(map.getValue().getResults(), check);
  if (auto set = dyn_cast<IntegerSetAttr>(a))
    return llvm::all_of(set.getValue().getConstraints(), check);
  if (auto list = dyn_cast<ArrayAttr>(a))
    return llvm::all_of(list, [](Attribute entry) { return dividesByPositive(entry); });
  return true;
}

LogicalResult verifyDivisors(Operation *op) { // [C7]
  if (!isa_and_nonnull<TeDialect>(op->getDialect()))
    return success(); // no other op has a map (and its attributes would be made one for the question)
  for (NamedAttribute a : op->getAttrs())
    if (!dividesByPositive(a.getValue()))
      return op->emitOpError() << "[C7] divides by a constant that is not positive in '" << a.getName().getValue() << "'";
  return success();
}

/// Sizes may be read among the statements and in their bodies.
LogicalResult verifySize(KernelOp kernel, SizeOp size) { // [C2]
  AffineMap map = size.getMap();
  if (map.getNumDims() != 0 || map.getNumSymbols() != kernel.getNumSizes() || map.getNumResults() != 1)
    return size.emitOpError() << "[C2] its map must go from the kernel's " << kernel.getNumSizes() << " sizes to one number";
  return success();
}

LogicalResult verifyBody(KernelOp kernel, Operation *statement) { // [C6]
  for (Region &region : statement->getRegions())
    for (Operation &op : region.front()) {
      if (!isa<YieldOp>(op) && !isScalarOp(&op))
        return op.emitOpError() << "[C6] makes no scalar that a statement's body can have: bodies are straight lines of constants, "
                                   "elementwise ops and the scalar ops of te";
      if (auto size = dyn_cast<SizeOp>(op); size && failed(verifySize(kernel, size)))
        return failure();
      if (failed(verifyDivisors(&op)))
        return failure();
    }
  return success();
}

/// [C8]: of every parameter, arguments and then the outputs that update none.
LogicalResult verifyParameters(KernelOp kernel) {
  SmallVector<AffineMap> shapes;
  for (unsigned i = 0; i < kernel.getArgShapes().size(); ++i)
    shapes.push_back(kernel.getArgShape(i));
  for (unsigned o = 0; o < kernel.getOutShapes().size(); ++o)
    if (kernel.getAlias(o) < 0)
      shapes.push_back(kernel.getOutShape(o));
  auto wrong = [&](StringRef name) {
    return kernel.emitOpError() << "[C8] '" << name << "' must have one entry for each of the " << shapes.size()
                                << " parameters: strides over the sizes or unit, and bytes that are a power of two up to 16";
  };
  if (ArrayAttr list = kernel.getParamStridesAttr()) {
    if (list.size() != shapes.size())
      return wrong("param_strides");
    for (auto [entry, shape] : llvm::zip(list, shapes)) {
      auto map = dyn_cast<AffineMapAttr>(entry);
      if (!map ? !isa<UnitAttr>(entry)
               : map.getValue().getNumDims() || map.getValue().getNumSymbols() != kernel.getNumSizes() ||
                     map.getValue().getNumResults() != shape.getNumResults())
        return wrong("param_strides");
    }
  }
  if (DenseI64ArrayAttr list = kernel.getParamAlignmentAttr())
    if (list.size() != int64_t(shapes.size()) ||
        !llvm::all_of(list.asArrayRef(), [](int64_t bytes) { return bytes >= 1 && bytes <= 16 && llvm::isPowerOf2_64(bytes); }))
      return wrong("param_alignment");
  return success();
}

} // namespace

bool isTensorOf(KernelOp kernel, Value tensor) {
  if (RecurrenceOp own = findRecurrence(tensor))
    return own->getParentOp() == kernel && tensor == tensor.getParentBlock()->getArguments().back();
  if (auto arg = dyn_cast<BlockArgument>(tensor))
    return arg.getOwner()->getParentOp() == kernel;
  return isDomainOp(tensor.getDefiningOp());
}

LogicalResult verifyKernelBody(KernelOp kernel) {
  for (Operation &op : kernel.getBlock()) {
    if (!isDomainOp(&op) && !isa<ReturnOp>(op) && !isScalarOp(&op))
      return op.emitOpError() << "[C5] is no statement of a te.kernel, nor makes it a scalar that statements share";
    if (auto size = dyn_cast<SizeOp>(op); size && failed(verifySize(kernel, size)))
      return failure();
    if (failed(verifyDivisors(&op)) || failed(verifyBody(kernel, &op)))
      return failure();
  }
  for (Value v : kernel.getReturn().getOuts())
    if (!isTensorOf(kernel, v))
      return kernel.getReturn().emitOpError() << "[C5] returns a tensor that is no argument of the kernel, nor what a statement gives";
  if (failed(verifyDivisors(kernel)) || failed(verifyParameters(kernel)))
    return failure();
  auto hasMarks = [](Operation *op) { return succeeded(verifyMarks(op)) ? WalkResult::advance() : WalkResult::interrupt(); };
  return failure(kernel->walk(hasMarks).wasInterrupted());
}

} // namespace kernelc::te

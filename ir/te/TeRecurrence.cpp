// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier and accessors of te.recurrence. The labels [C1].. are those of TeRecurrence.td.
#include "ir/te/Combiners.h"
#include "ir/te/KernelVerifier.h"
#include "ir/te/TeShape.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::te;

Combiner RecurrenceOp::getKind(unsigned k) { return *symbolizeCombiner(cast<StringAttr>(getKinds()[k]).getValue()); }
IntegerSet RecurrenceOp::getRange(unsigned k) { return cast<IntegerSetAttr>(getRanges()[k]).getValue(); }
YieldOp RecurrenceOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }
YieldOp RecurrenceOp::getTermYield(unsigned k) { return cast<YieldOp>(getTerms()[k].front().getTerminator()); }

SmallVector<unsigned> RecurrenceOp::getReducedDims(unsigned k) {
  unsigned first = getNumParallel();
  for (int64_t count : getCounts().take_front(k))
    first += unsigned(count);
  return llvm::to_vector(llvm::seq(first, first + unsigned(getCounts()[k])));
}

AffineMap RecurrenceOp::getOutMapOrIdentity() {
  if (getOutMap())
    return *getOutMap();
  unsigned n = getNumParallel();
  return AffineMap::get(n, getExtents().getNumSymbols(), AffineMap::getMultiDimIdentityMap(n, getContext()).getResults(), getContext());
}

AffineMap RecurrenceOp::getResultShape() {
  if (getShape())
    return *getShape();
  AffineMap e = getExtents();
  return AffineMap::get(0, e.getNumSymbols(), e.getResults().take_front(getNumParallel()), getContext());
}

namespace {

LogicalResult verifyDims(RecurrenceOp op, KernelOp kernel) { // [C1]
  unsigned n = op.getNumDims(), symbols = kernel.getNumSizes();
  if (op.getParallel() > n || op.getFree() >= op.getParallel())
    return op.emitOpError() << "[C1] has " << n << " dims, " << op.getParallel() << " of points, and " << op.getFree()
                            << " free ones; a step must be left";
  AffineMap extents = op.getExtents();
  if (extents.getNumDims() != 0 || extents.getNumSymbols() != symbols || extents.getNumResults() != n)
    return op.emitOpError() << "[C1] extents must be a map without dims over " << symbols << " sizes to " << n << " results, one per index";
  if (auto set = op.getCondition(); set && (set->getNumDims() != n || set->getNumSymbols() != symbols))
    return op.emitOpError() << "[C1] the condition must be a set over the " << n << " indices and the sizes";
  return success();
}

LogicalResult verifyTerms(RecurrenceOp op, KernelOp kernel) { // [C2], [C4]
  unsigned terms = op.getNumTerms(), n = op.getNumDims();
  int64_t reduced = 0;
  for (int64_t count : op.getCounts())
    reduced += count < 0 ? n + 1 : count;
  if (op.getCounts().size() != terms || op.getRanges().size() != terms || op.getTerms().size() != terms ||
      reduced != int64_t(n) - int64_t(op.getNumParallel()))
    return op.emitOpError() << "[C2] kinds, counts, ranges and terms must agree, and the counts with the " << n - op.getNumParallel()
                            << " reduced dims";
  for (unsigned k = 0; k < terms; ++k) {
    auto set = dyn_cast<IntegerSetAttr>(op.getRanges()[k]);
    if (!set || set.getValue().getNumDims() != n || set.getValue().getNumSymbols() != kernel.getNumSizes())
      return op.emitOpError() << "[C2] range " << k << " must be a set over the " << n << " indices and the sizes";
    std::optional<Combiner> kind = symbolizeCombiner(cast<StringAttr>(op.getKinds()[k]).getValue());
    auto yield = dyn_cast<YieldOp>(op.getTerms()[k].front().getTerminator());
    if (!yield || yield.getValues().size() != 1)
      return op.emitOpError() << "[C4] term " << k << " must yield one value";
    Type type = yield.getValues()[0].getType();
    bool isArg = kind && llvm::is_contained({Combiner::ArgMax, Combiner::ArgMin, Combiner::ArgMaxU, Combiner::ArgMinU}, *kind);
    if (!kind || isArg || !combines(*kind, type))
      return op.emitOpError() << "[C2] " << op.getKinds()[k] << " does not reduce " << type << " here";
  }
  return success();
}

/// The dims, `values`, and the tensor itself.
LogicalResult verifyArguments(RecurrenceOp op, Block &block, TypeRange values) { // [C5]
  SmallVector<Type> want(op.getNumDims(), IndexType::get(op.getContext()));
  llvm::append_range(want, values);
  want.push_back(op.getResult().getType());
  if (TypeRange(block.getArgumentTypes()) != TypeRange(want))
    return op.emitOpError() << "[C5] a region must have " << op.getNumDims() << " indices, " << values.size()
                            << " values of reductions and the tensor itself for arguments";
  return success();
}

} // namespace

LogicalResult RecurrenceOp::verifyRegions() {
  KernelOp kernel = te::getKernel(*this);
  if (!kernel || (*this)->getParentOp() != kernel)
    return emitOpError() << "[C1] must stand in a te.kernel, as one of its statements";
  if (failed(verifyDims(*this, kernel)) || failed(verifyTerms(*this, kernel)))
    return failure();
  auto type = cast<RankedTensorType>(getResult().getType());
  AffineMap out = getOutMapOrIdentity(), shape = getResultShape();
  if (out.getNumDims() != getNumParallel() || out.getNumSymbols() != kernel.getNumSizes() ||
      out.getNumResults() != unsigned(type.getRank()) || shape.getNumDims() != 0 || shape.getNumSymbols() != kernel.getNumSizes() ||
      shape.getNumResults() != unsigned(type.getRank()))
    return emitOpError() << "[C3] out_map must go from " << getNumParallel() << " indices, and shape from the sizes, to the result's "
                         << type.getRank() << " dims";
  if (Value init = getInit(); init && (init.getType() != type || !isTensorOf(kernel, init) || getTensorShape(init) != shape))
    return emitOpError() << "[C3] init must be an argument of the kernel or what a statement gives, with the result's type and shape";
  auto yield = dyn_cast<YieldOp>(getBlock().getTerminator());
  if (!yield || yield.getValues().size() != 1 || yield.getCondition() || yield.getValues()[0].getType() != type.getElementType())
    return emitOpError() << "[C4] the body must yield one " << type.getElementType() << ", without a condition";
  SmallVector<Type> values;
  for (unsigned k = 0; k < getNumTerms(); ++k) {
    values.push_back(getTermYield(k).getValues()[0].getType());
    if (failed(verifyArguments(*this, getTerms()[k].front(), ArrayRef(values).drop_back())))
      return failure();
  }
  return verifyArguments(*this, getBlock(), values);
}

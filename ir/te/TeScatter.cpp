// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier and queries of te.scatter. The labels [C1].. are those of its description.
#include "ir/te/Combiners.h"
#include "ir/te/KernelVerifier.h"
#include "ir/te/Te.h"
#include "ir/te/TeShape.h"
#include "ir/te/VerifyIndices.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::te;

YieldOp ScatterOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }
Value ScatterOp::getValue() { return getYield().getValues()[0]; }
ValueRange ScatterOp::getSubscripts() { return getYield().getValues().drop_front(); }

bool ScatterOp::hasOrder() {
  return getKind() && (*getKind() == Combiner::Sum || *getKind() == Combiner::Prod) &&
         isa<FloatType>(getResult().getType().getElementType());
}

LogicalResult ScatterOp::verifyRegions() {
  if (failed(verifyIndices(*this)))
    return failure();
  auto type = cast<RankedTensorType>(getResult().getType());
  AffineMap shape = getShape();
  if (shape.getNumResults() != unsigned(type.getRank()) || shape.getNumDims() != 0 ||
      shape.getNumSymbols() != getKernel(*this).getNumSizes())
    return emitOpError() << "[C5] shape must give the result's " << type.getRank() << " dims over the sizes";
  auto yield = dyn_cast<YieldOp>(getBlock().getTerminator());
  if (!yield || yield.getValues().size() != unsigned(type.getRank()) + 1 || yield.getValues()[0].getType() != type.getElementType() ||
      llvm::any_of(getSubscripts(), [](Value v) { return !v.getType().isIndex(); }))
    return emitOpError() << "[C2] must yield a value of " << type.getElementType() << " and " << type.getRank() << " subscripts";
  if (std::optional<Combiner> kind = getKind())
    if (!combines(*kind, type.getElementType()) || isArg(*kind) || *kind == Combiner::Any || *kind == Combiner::All)
      return emitOpError() << "[C3] " << stringifyCombiner(*kind) << " does not combine elements of " << type.getElementType();
  Value init = getInit();
  if (!init && !isUnique())
    return emitOpError() << "[C4] combines with elements, and has no init that gives them";
  if (init && (init.getType() != type || !isTensorOf(getKernel(*this), init) || getTensorShape(init) != shape))
    return emitOpError() << "[C4] init must be an argument of the kernel or what a statement gives, with the result's type " << type
                         << " and its shape";
  return success();
}

#include "ir/te/Factors.h"

using namespace mlir;

namespace kernelc::te {

SmallVector<OpOperand *> findFactors(Value product) {
  SmallVector<OpOperand *> factors;
  Operation *op = product.getDefiningOp();
  if (!op || !isa<arith::MulFOp, arith::MulIOp>(op))
    return factors;
  for (OpOperand &use : op->getOpOperands()) {
    Operation *inner = use.get().getDefiningOp();
    if (inner && inner->getName() == op->getName() && use.get().hasOneUse())
      factors.append(findFactors(use.get()));
    else
      factors.push_back(&use);
  }
  return factors;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Factors.h"

using namespace mlir;

namespace kernelc::te {

/// Collects the operands at which a tree of multiplications ends: values that are no product, that others read too, or that are in
/// `leaves`.
static void collectLeaves(Value product, ArrayRef<Value> leaves, SmallVectorImpl<OpOperand *> &found) {
  Operation *op = product.getDefiningOp();
  if (!op || !isa<arith::MulFOp, arith::MulIOp>(op))
    return;
  for (OpOperand &use : op->getOpOperands()) {
    Operation *inner = use.get().getDefiningOp();
    if (inner && inner->getName() == op->getName() && use.get().hasOneUse() && !llvm::is_contained(leaves, use.get()))
      collectLeaves(use.get(), leaves, found);
    else
      found.push_back(&use);
  }
}

SmallVector<OpOperand *> findFactors(Value product) {
  SmallVector<OpOperand *> factors;
  collectLeaves(product, {}, factors);
  return factors;
}

SmallVector<OpOperand *> findUsesIn(Value product, ArrayRef<Value> values) {
  SmallVector<OpOperand *> uses;
  collectLeaves(product, values, uses);
  llvm::erase_if(uses, [&](OpOperand *use) { return !llvm::is_contained(values, use->get()); });
  return uses;
}

} // namespace kernelc::te

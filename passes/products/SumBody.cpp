// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/SumBody.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace kernelc::te {

ArrayAttr indicesOf(ReduceOp reduce, ArrayRef<unsigned> dims) {
  return ArrayAttr::get(reduce.getContext(), llvm::map_to_vector(dims, [&](unsigned d) { return reduce.getIndices()[d]; }));
}

AffineMap extentsOf(ReduceOp reduce, ArrayRef<unsigned> dims) {
  auto extents = llvm::map_to_vector(dims, [&](unsigned d) { return reduce.getExtents().getResult(d); });
  return AffineMap::get(0, reduce.getExtents().getNumSymbols(), extents, reduce.getContext());
}

void cloneTerms(OpBuilder &b, ReduceOp reduce, ArrayRef<Value> values, IRMapping &mapping) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &reduce.getBlock(); };
  for (Value v : values)
    (void)getBackwardSlice(v, &slice, options);
  for (Operation &op : reduce.getBlock()) {
    if (!slice.contains(&op) || (op.getNumResults() && mapping.contains(op.getResult(0))))
      continue;
    for (Value operand : op.getOperands())
      if (auto dim = dyn_cast<BlockArgument>(operand); dim && dim.getOwner() == &reduce.getBlock() && !mapping.contains(dim))
        mapping.map(dim, arith::ConstantIndexOp::create(b, reduce.getLoc(), 0).getResult());
    b.clone(op, mapping);
  }
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What [C1] asks of the statements of a te.kernel whose region has an argument for each index.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Whether `op` stands in a te.kernel, and extents, region and condition go with its indices; a diagnostic says what does not.
template <typename OpT> mlir::LogicalResult verifyIndices(OpT op) {
  KernelOp kernel = getKernel(op);
  if (!kernel || op->getParentOp() != kernel)
    return op.emitOpError() << "[C1] must stand in a te.kernel, as one of its statements";
  unsigned n = op.getNumDims(), symbols = kernel.getNumSizes();
  mlir::AffineMap extents = op.getExtents();
  if (extents.getNumDims() != 0 || extents.getNumSymbols() != symbols || extents.getNumResults() != n)
    return op.emitOpError() << "[C1] extents must be a map without dims over " << symbols << " sizes to " << n << " results, one per index";
  if (op.getBlock().getNumArguments() != n || llvm::any_of(op.getBlock().getArgumentTypes(), [](mlir::Type t) { return !t.isIndex(); }))
    return op.emitOpError() << "[C1] the region must have one index argument per index name";
  if (auto set = op.getCondition(); set && (set->getNumDims() != n || set->getNumSymbols() != symbols))
    return op.emitOpError() << "[C1] the condition must be a set over the " << n << " indices and the sizes";
  return mlir::success();
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/cu/Marks.h"

namespace kernelc::cu {

bool isIndexOp(mlir::Operation *op) { return op->getNumResults() == 1 && op->getResult(0).getType().isIndex(); }
bool isIndexOpOrLoop(mlir::Operation *op) { return llvm::isa<mlir::scf::ForOp>(op) || isIndexOp(op); }

} // namespace kernelc::cu

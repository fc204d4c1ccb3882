// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/Instructions.h"

#include "ir/cu/Cu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kernelc {

bool isInstruction(Operation *op) {
  if (isa<arith::ConstantOp, memref::AllocaOp, cu::CommentOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return cu::spaceOf(load.getMemRef()) != cu::Private;
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return cu::spaceOf(store.getMemRef()) != cu::Private;
  return !(op->getNumResults() == 1 && op->getNumRegions() == 0 && op->getResult(0).getType().isIndex() && isMemoryEffectFree(op));
}

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/DeadCode.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace kernelc {

/// Erases stores to arrays that nobody reads; returns whether there were any. (memref::eraseDeadAllocAndStores takes an op for a store
/// whose effects do not name the array, as those of cu do not.)
static bool eraseUnreadStores(cu::KernelOp kernel) {
  SmallVector<memref::AllocaOp> unread;
  kernel.getBody().walk([&](memref::AllocaOp array) {
    auto isStoredTo = [&](Operation *user) {
      auto store = dyn_cast<memref::StoreOp>(user);
      return store && store.getValueToStore() != array.getResult();
    };
    if (!array->use_empty() && llvm::all_of(array->getUsers(), isStoredTo))
      unread.push_back(array);
  });
  for (memref::AllocaOp array : unread)
    for (Operation *store : llvm::make_early_inc_range(array->getUsers()))
      store->erase();
  return !unread.empty();
}

void eraseDead(cu::KernelOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  do
    (void)runRegionDCE(rewriter, kernel->getRegions()); // fails where nothing is erased
  while (eraseUnreadStores(kernel));
}

void eraseDeadIn(Operation *op) {
  IRRewriter rewriter(op->getContext());
  (void)runRegionDCE(rewriter, op->getRegions());
  if (isOpTriviallyDead(op))
    rewriter.eraseOp(op);
}

} // namespace kernelc

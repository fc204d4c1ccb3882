// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/StatementOrder.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A reduction that may stand anywhere before its readers: it reads parameters, and overwrites nothing. (Products of few rows have launches
/// beside each other.)
ReduceOp findFree(Operation &op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.isArg() || reduce.getInit() || reduce.getOutMap() || findScan(reduce) || !getStreamedDims(reduce).empty() ||
      findGeneralContraction(reduce))
    return {};
  bool isFree = true;
  reduce.walk([&](Operation *inner) {
    for (Value v : inner->getOperands())
      isFree &= reduce.getBody().isAncestor(v.getParentRegion()) || isa<BlockArgument>(v) ||
                (!isDomainOp(v.getDefiningOp()) && v.getDefiningOp()->getNumOperands() == 0);
  });
  return isFree ? reduce : ReduceOp();
}

bool readsInCommon(ReduceOp a, ReduceOp b) {
  auto tensorsOf = [](ReduceOp op) {
    llvm::SmallPtrSet<Value, 4> tensors;
    op.walk([&](ReadOp read) { tensors.insert(read.getTensor()); });
    return tensors;
  };
  llvm::SmallPtrSet<Value, 4> others = tensorsOf(b);
  return llvm::any_of(tensorsOf(a), [&](Value tensor) { return others.contains(tensor); });
}

} // namespace

void startScattersEarly(KernelOp kernel) {
  for (auto scatter : kernel.getBlock().getOps<ScatterOp>()) {
    auto start = scatter.getInit() ? scatter.getInit().getDefiningOp<ComputeOp>() : ComputeOp();
    bool isFree = scatter.getAnyOrder() && start && !start.getInit() && start->getResult(0).hasOneUse();
    if (!isFree || start.walk([](ReadOp) { return WalkResult::interrupt(); }).wasInterrupted())
      continue;
    scatter.walk([&](ReadOp read) {
      auto reduce = read.getTensor().getDefiningOp<ReduceOp>();
      if (reduce && reduce->isBeforeInBlock(start))
        start->moveBefore(reduce);
    });
  }
}

void gatherReductions(KernelOp kernel) {
  SmallVector<ReduceOp> seen;
  Operation *front = nullptr; // what the statements may use of the kernel comes first
  for (Operation &op : llvm::make_early_inc_range(kernel.getBlock())) {
    if (!isDomainOp(&op) && front && !isa<ReturnOp>(op) && op.getNumOperands() == 0)
      op.moveBefore(front);
    else if (!front)
      front = isDomainOp(&op) ? &op : nullptr;
    ReduceOp reduce = findFree(op);
    if (!reduce)
      continue;
    auto alike = llvm::find_if(llvm::reverse(seen), [&](ReduceOp other) {
      return other.getNumParallel() == reduce.getNumParallel() && other.getExtents() == reduce.getExtents() && readsInCommon(other, reduce);
    });
    if (alike != seen.rend())
      reduce->moveAfter(*alike);
    seen.push_back(reduce);
  }
}

} // namespace kernelc::te

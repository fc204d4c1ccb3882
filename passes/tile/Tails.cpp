// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/Tails.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

/// Whether each point of index `d` has results of its own: no op combines points along it.
static bool arePointsApart(FuncOp func, int64_t d) {
  auto combines = [&](Operation *op) {
    bool along = llvm::TypeSwitch<Operation *, bool>(op)
                     .Case([&](DotOp o) { return llvm::is_contained(o.getK(), d); })
                     .Case([&](ReduceOp o) { return llvm::is_contained(o.getDims(), d); })
                     .Case([&](ScanOp o) { return int64_t(o.getDim()) == d; })
                     .Case([](ScatterOp) { return true; })
                     .Default([](Operation *) { return false; });
    return along ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !func.walk(combines).wasInterrupted();
}

/// Whether only products read the slots.
static bool isReadByProducts(Value ring) {
  return !ring.getDefiningOp<RingOp>().getOf() &&
         llvm::all_of(ring.getUsers(), [](Operation *user) { return isa<DotOp, RingCopyOp>(user); });
}

/// The index that walks a dim of a box which starts at `start`; nothing where several do.
static std::optional<int64_t> findOnlyIndex(AffineExpr start, ArrayRef<int64_t> shape) {
  std::optional<int64_t> only;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && start.isFunctionOfDim(d)) {
      if (only)
        return std::nullopt;
      only = d;
    }
  return only;
}

std::optional<Tail> findTail(FuncOp func, RingCopyOp copy, const Box &box) {
  ArrayRef<int64_t> shape = copy.getRing().getType().getShape();
  auto ends = [&](int64_t d) {
    return d >= 0 && llvm::is_contained(func.getGridDims(), d) && shape[d] == func.getTiles()[d] && !func.isAlignedAlong(d) &&
           te::knownDivisor(func.getExtents().getResult(d), {func.getSizeDiv(), func.getSizeMax()}) % shape[d] != 0 &&
           arePointsApart(func, d);
  };
  if (func.getUnit() != Unit::Wgmma || box.pieces.count > 1 || !isReadByProducts(copy.getRing()))
    return std::nullopt;
  bool byRows = copy.getMulticast() && box.panels % int64_t(func.getCluster()) != 0; // each block of a cluster brings some rows
  size_t slowest = slowestDim(box);
  std::optional<int64_t> rows = slowest > 0 && !byRows ? findOnlyIndex(box.starts[slowest], shape) : std::nullopt;
  if (rows && ends(*rows) && box.sizes[slowest] == shape[*rows])
    return Tail{*rows, slowest};
  if (box.panels > 1 && ends(box.contiguous) && box.panels * box.sizes[0] == shape[box.contiguous])
    return Tail{box.contiguous, 0};
  return std::nullopt;
}

AcquireOp findAcquire(RingCopyOp copy) {
  auto announces = [&](AcquireOp acquire) { return acquire.getChannel() == copy.getChannel() && acquire.getNumber() == copy.getNumber(); };
  for (Operation *at = copy; at; at = at->getParentOp()) {
    for (Operation *before = at->getPrevNode(); before; before = before->getPrevNode()) {
      if (auto acquire = dyn_cast<AcquireOp>(before); acquire && announces(acquire))
        return acquire;
      if (auto branch = dyn_cast<scf::IfOp>(before))
        for (AcquireOp acquire : branch.thenBlock()->getOps<AcquireOp>())
          if (announces(acquire))
            return acquire;
    }
    if (!isa<scf::IfOp>(at->getParentOp()))
      return {};
  }
  return {};
}

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/PointReaders.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Chain.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether `statement` reads what one of `makers` makes, or what is made of that.
bool dependsOn(Operation *statement, const llvm::SmallPtrSetImpl<Operation *> &makers) {
  SmallVector<Operation *> work{statement};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (makers.contains(next))
      return true;
    next->walk([&](ReadOp read) {
      if (Operation *made = read.getTensor().getDefiningOp(); made && seen.insert(made).second)
        work.push_back(made);
    });
  }
  return false;
}

/// Whether `read` is a read of the statement's own point.
bool isOwnPoint(ReadOp read, Operation *statement) {
  auto at = llvm::enumerate(read.getOperands_());
  return read.getMapOrIdentity().isIdentity() && read.getBounds() == BoundsMode::InBounds &&
         llvm::all_of(at, [&](auto pair) { return findIndex(statement, pair.value()) == unsigned(pair.index()); });
}

} // namespace

void recomputeForPoints(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  if (!target.chainRate || !target.wgmma)
    return;
  for (ReduceOp producer : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>())) {
    llvm::SmallPtrSet<Operation *, 4> walkers;
    llvm::SetVector<Operation *> points;
    std::optional<ProductWalk> walk;
    bool isKnown = findContraction(producer).has_value();
    for (Operation *user : producer->getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      Operation *statement = user->getParentOp();
      if (std::optional<ProductWalk> found = read ? findWalk(statement, target, facts) : std::nullopt) {
        walkers.insert(statement);
        walk = std::move(found);
      } else if (read && isa<ComputeOp>(statement) && !getCondition(statement) && isOwnPoint(read, statement)) {
        points.insert(statement);
      } else {
        isKnown = false;
      }
    }
    if (!isKnown || !walk || !walk->beside.empty() || points.empty() ||
        !llvm::all_of(points, [&](Operation *statement) { return dependsOn(statement, walkers); }) ||
        !paysToWalkAgain(*walk, target, facts))
      continue;
    Operation *first = *llvm::min_element(points, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    OpBuilder b(first);
    for (Operation *walker : walkers)
      cast<ReduceOp>(walker).setWalks(true);
    auto own = cast<ReduceOp>(b.clone(*producer));
    producer.getResult().replaceUsesWithIf(own.getResult(), [&](OpOperand &use) { return points.contains(use.getOwner()->getParentOp()); });
    first->emitRemark() << "this product's results are reduced where they are made, and computed once more for what is made of them: that "
                           "is faster than to write them to memory and read them again";
  }
}

} // namespace kernelc::te

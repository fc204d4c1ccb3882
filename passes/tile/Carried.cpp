// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/Carried.h"

#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kernelc {

bool usesAny(Operation &op, llvm::function_ref<bool(Value)> isOne) {
  return op
      .walk([&](Operation *inner) { return llvm::any_of(inner->getOperands(), isOne) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

static OpOperand &yieldedFor(BlockArgument carried) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  return *loop.getTiedLoopYieldedValue(carried);
}
void setCarried(BlockArgument carried, Value next) { yieldedFor(carried).set(next); }
Value getCarriedNext(BlockArgument carried) { return yieldedFor(carried).get(); }

FailureOr<SmallVector<BlockArgument>> carry(scf::ForOp &loop, ArrayRef<Value> inits) {
  Location induction = loop.getInductionVar().getLoc();
  SmallVector<Location> carried = llvm::map_to_vector(loop.getRegionIterArgs(), [](Value v) { return v.getLoc(); });
  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  auto unchanged = [](OpBuilder &, Location, ArrayRef<BlockArgument> args) { return llvm::to_vector_of<Value>(args); };
  auto larger = loop.replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, unchanged);
  if (failed(larger))
    return failure();
  loop = cast<scf::ForOp>(larger->getOperation());
  loop.getInductionVar().setLoc(induction);
  for (auto [arg, at] : llvm::zip(loop.getRegionIterArgs(), carried))
    arg.setLoc(at);
  return llvm::to_vector_of<BlockArgument>(loop.getRegionIterArgs().take_back(inits.size()));
}

FailureOr<Value> carryCount(scf::ForOp &loop, StringRef name, Location loc, llvm::function_ref<Value(OpBuilder &, Value)> next) {
  OpBuilder before(loop);
  Value zero = arith::ConstantIndexOp::create(before, loc, 0);
  auto carried = carry(loop, zero);
  if (failed(carried))
    return failure();
  BlockArgument count = carried->front();
  count.setLoc(NameLoc::get(before.getStringAttr(name), loc));
  OpBuilder atEnd(loop.getBody()->getTerminator());
  setCarried(count, next(atEnd, count));
  return Value(count);
}

void stopUnusedCounts(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [i, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (!arg.getType().isIndex() || !loop.getResult(i).use_empty())
      continue;
    SetVector<Value> reached;
    reached.insert(arg);
    bool isUsed = false;
    for (size_t n = 0; n < reached.size() && !isUsed; ++n)
      for (OpOperand &use : reached[n].getUses()) {
        Operation *user = loop.getBody()->findAncestorOpInBlock(*use.getOwner());
        if (user == yield)
          isUsed |= use.getOperandNumber() != i;
        else if (user && tile::isScalarCode(user))
          reached.insert_range(user->getResults());
        else
          isUsed = true;
      }
    if (!isUsed)
      yield.setOperand(i, arg);
  }
}

} // namespace kernelc

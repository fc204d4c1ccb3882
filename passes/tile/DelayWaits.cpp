// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds with several products, of which some take others' results: loads first, and each product waited for where its result is needed,
// so that what is computed in between runs beside it.
#include "passes/tile/Pipeliners.h"

#include "passes/tile/Access.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

bool isInBlock(Value v, Block *block) { return v.getDefiningOp() && v.getDefiningOp()->getBlock() == block; }

/// Whether another op of `block` than scalar code makes what `load` takes.
bool needsTiles(LoadOp load, Block *block) {
  return llvm::any_of(load->getOperands(), [&](Value v) { return isInBlock(v, block) && !isScalarCode(v.getDefiningOp()); });
}

/// Registers that a thread has beside the products of a round, one operand in the making, and masks.
int64_t registersLeft(FuncOp func, Block *block) {
  const Target *target = findTarget(absl::string_view(func.getTarget().data(), func.getTarget().size()));
  if (!target)
    return 0;
  int64_t threads = int64_t(func.getWarps()) * 32, operand = 0;
  int64_t left = shareRegisters(*target, func.getProducerWarps() * 32, func.getConsumerWarps() * 32, func.getMinBlocks(),
                                int64_t(func.getProducerRegisters()))
                     .consumer;
  for (DotOp dot : block->getOps<DotOp>()) {
    left -= dot.getResult().getType().getNumElements() / threads;
    if (auto a = dyn_cast<RankedTensorType>(dot.getA().getType()))
      operand = std::max<int64_t>(operand, a.getNumElements() * a.getElementTypeBitWidth() / 32 / threads);
  }
  bool isMasked = llvm::any_of(block->getOps<arith::SelectOp>(), [](arith::SelectOp s) { return isa<RankedTensorType>(s.getType()); });
  return left - operand - (isMasked ? target->costs->threads.masks : 0);
}

/// Starts what a round loads itself before it waits for anything, as far as there are registers. Scalar code stands before all of it.
/// Returns loads that addresses leave too few registers for, until the first products are issued.
SmallVector<LoadOp> loadFirst(FuncOp func, Block *block) {
  SmallVector<LoadOp> later;
  auto awaits = block->getOps<AwaitOp>();
  if (awaits.empty())
    return later;
  Operation *first = *awaits.begin();
  const Target *target = findTarget(absl::string_view(func.getTarget().data(), func.getTarget().size()));
  int64_t left = registersLeft(func, block), addresses = target ? target->costs->threads.addresses : 0;
  auto isAfter = [&](Value v) { return isInBlock(v, block) && first->isBeforeInBlock(v.getDefiningOp()); };
  for (LoadOp load : llvm::to_vector(block->getOps<LoadOp>())) {
    if (!isOnlyRead(load.getBase()) || load->isBeforeInBlock(first) || needsTiles(load, block) ||
        llvm::any_of(load->getOperands(), isAfter))
      continue;
    RankedTensorType type = load.getResult().getType();
    left -= type.getNumElements() * std::max<int64_t>(16, type.getElementTypeBitWidth()) / 32 / 4; // (of a warpgroup's columns a quarter)
    if (left < 0)
      break;
    if (left < addresses)
      later.push_back(load);
    else
      load->moveBefore(first);
  }
  return later;
}

/// Moves `wait`, and the releases of slots that stand behind it, to where its result is first needed, or that of one issued later: products
/// end in their order, and ptxas serializes them all where the accumulators of an earlier one are still in flight while a later one's are
/// read (C7514).
void delay(DotWaitOp wait, ArrayRef<std::pair<DotWaitOp, DotOp>> later) {
  Block *block = wait->getBlock();
  Operation *user = block->getTerminator();
  for (Operation *u : wait->getUsers())
    if (Operation *own = block->findAncestorOpInBlock(*u); own && own->isBeforeInBlock(user))
      user = own;
  for (auto [other, dot] : later)
    for (Operation *u : DotWaitOp(other)->getUsers())
      if (Operation *own = block->findAncestorOpInBlock(*u); own && own->isBeforeInBlock(user))
        user = own;
  SmallVector<Operation *> moved{wait};
  for (Operation *op = wait->getNextNode(); isa_and_nonnull<ReleaseOp>(op); op = op->getNextNode())
    moved.push_back(op);
  for (Operation *op : moved)
    op->moveBefore(user);
}

/// Whether a launch adds sums into memory as it goes: its accumulators leave threads few registers.
bool addsIntoMemory(FuncOp func) {
  return func.walk([](ScatterOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Moves a vector that is only spread over a tile to where that is needed: behind the wait, so that fewer registers are held ahead of it.
/// `withComputed`: what is computed of it goes along.
void sink(RingLoadOp vector, bool withComputed) {
  SmallVector<Operation *> chain{vector};
  while (!isa<BroadcastOp>(chain.back())) {
    Operation *next = chain.back()->hasOneUse() ? *chain.back()->user_begin() : nullptr;
    bool isOfVector = next && next->getBlock() == vector->getBlock() && isMemoryEffectFree(next) &&
                      (isa<BroadcastOp>(next) || (withComputed && next->hasTrait<OpTrait::Elementwise>()));
    if (!isOfVector)
      return;
    chain.push_back(next);
  }
  Operation *spread = chain.back();
  if (spread->use_empty())
    return;
  Operation *user = vector->getBlock()->getTerminator();
  for (Operation *u : spread->getUsers())
    if (Operation *own = vector->getBlock()->findAncestorOpInBlock(*u); own->isBeforeInBlock(user))
      user = own;
  for (Operation *op : chain)
    op->moveBefore(user);
}

} // namespace

void delayWaits(FuncOp func) {
  if (func.getUnit() != Unit::Wgmma)
    return;
  llvm::SmallSetVector<Block *, 4> blocks;
  func.walk([&](DotOp dot) { blocks.insert(dot->getBlock()); });
  // (Elsewhere to compute behind the wait costs more than it gives: docs/lab/2026-11-28-scatters-11.md.)
  const bool areFew = addsIntoMemory(func);
  for (Block *block : blocks) {
    SmallVector<std::pair<DotWaitOp, DotOp>> waits;
    for (DotWaitOp wait : block->getOps<DotWaitOp>())
      if (auto dot = wait.getAcc().getDefiningOp<DotOp>(); dot && dot->getBlock() == block && wait.getPending() == 0)
        waits.push_back({wait, dot});
    if (waits.size() < 3)
      continue;
    SmallVector<LoadOp> later = loadFirst(func, block);
    for (auto [n, issued] : llvm::enumerate(waits))
      delay(issued.first, ArrayRef(waits).drop_front(n + 1));
    for (RingLoadOp vector : llvm::to_vector(block->getOps<RingLoadOp>()))
      sink(vector, areFew);
    Operation *first = *block->getOps<DotWaitOp>().begin();
    for (LoadOp load : later)
      if (first->isBeforeInBlock(load))
        load->moveBefore(first);
    for (auto [wait, dot] : waits) { // products that were issued after this one need not have ended
      int64_t pending = 0;
      for (Operation *op = dot->getNextNode(); op != wait; op = op->getNextNode())
        pending += isa<DotOp>(op);
      wait.setPending(pending);
    }
  }
}

} // namespace kernelc

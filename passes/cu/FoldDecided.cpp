// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-fold-decided: see Passes.td.
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Passes.h"
#include "passes/cu/DeadCode.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUFOLDDECIDED
#include "passes/Passes.h.inc"

namespace {

bool isNumber(Value v) { return matchPattern(v, m_Constant()); }

/// Whether numbers decide what an expression is: all of its operands, or the one that is enough.
bool isDecided(Operation *op) {
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return isNumber(choice.getCondition());
  if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  bool joins = isa<arith::AndIOp, arith::OrIOp>(op) && op->getResult(0).getType().isInteger(1);
  return joins || isa<arith::MulFOp>(op) ? llvm::any_of(op->getOperands(), isNumber) : llvm::all_of(op->getOperands(), isNumber);
}

bool foldExpression(Operation *op, RewriterBase &rewriter) {
  SmallVector<OpFoldResult, 1> folded;
  if (!isDecided(op) || failed(op->fold(folded)) || folded.size() != 1)
    return false;
  rewriter.setInsertionPoint(op);
  auto value = dyn_cast<Value>(folded.front());
  rewriter.replaceOp(
      op, value ? value : arith::ConstantOp::create(rewriter, op->getLoc(), cast<TypedAttr>(cast<Attribute>(folded.front()))).getResult());
  return true;
}

/// Puts the statements that run in place of a branch whose condition is a number.
bool openBranch(scf::IfOp branch, RewriterBase &rewriter) {
  BoolAttr holds;
  if (!matchPattern(branch.getCondition(), m_Constant(&holds)))
    return false;
  Block *taken = holds.getValue() ? branch.thenBlock() : branch.elseBlock();
  if (!taken) {
    rewriter.eraseOp(branch);
    return true;
  }
  Operation *yield = taken->getTerminator();
  SmallVector<Value> results(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(taken, branch);
  rewriter.replaceOp(branch, results);
  return true;
}

/// Erases a store of what has been loaded from the same place of a thread's own array, which nobody has written to since.
bool eraseReturned(memref::StoreOp store, RewriterBase &rewriter) {
  auto load = store.getValueToStore().getDefiningOp<memref::LoadOp>();
  Value array = store.getMemRef();
  if (!load || load.getMemRef() != array || load.getIndices() != store.getIndices() || load->getBlock() != store->getBlock() ||
      !array.getDefiningOp<memref::AllocaOp>())
    return false;
  bool isWritten = llvm::any_of(array.getUsers(), [&](Operation *user) {
    Operation *place = isa<memref::LoadOp>(user) ? nullptr : store->getBlock()->findAncestorOpInBlock(*user);
    return place && load->isBeforeInBlock(place) && place->isBeforeInBlock(store);
  });
  if (!isWritten)
    rewriter.eraseOp(store);
  return !isWritten;
}

/// Puts the one number that is all that is ever stored to an array in place of loads from it.
bool readNumber(memref::AllocaOp array, RewriterBase &rewriter) {
  TypedAttr number;
  SmallVector<memref::LoadOp> loads;
  for (Operation *user : array->getUsers()) {
    if (auto load = dyn_cast<memref::LoadOp>(user)) {
      if (!load->use_empty())
        loads.push_back(load);
      continue;
    }
    auto store = dyn_cast<memref::StoreOp>(user);
    TypedAttr stored;
    if (!store || !matchPattern(store.getValueToStore(), m_Constant(&stored)) || (number && number != stored))
      return false;
    number = stored;
  }
  if (!number)
    return false;
  for (memref::LoadOp load : loads) {
    rewriter.setInsertionPoint(load);
    rewriter.replaceAllUsesWith(load.getResult(), arith::ConstantOp::create(rewriter, load.getLoc(), number));
  }
  return !loads.empty();
}

struct CuFoldDecidedPass : impl::CuFoldDecidedBase<CuFoldDecidedPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    bool changed = true, everChanged = false;
    for (; changed; everChanged |= changed) {
      changed = false;
      getOperation().getBody().walk([&](Operation *op) { // (operands first, and what is in a branch before it)
        if (auto branch = dyn_cast<scf::IfOp>(op))
          changed |= openBranch(branch, rewriter);
        else if (auto store = dyn_cast<memref::StoreOp>(op))
          changed |= eraseReturned(store, rewriter);
        else if (auto array = dyn_cast<memref::AllocaOp>(op))
          changed |= readNumber(array, rewriter);
        else
          changed |= foldExpression(op, rewriter);
      });
    }
    if (everChanged)
      eraseDead(getOperation());
  }
};

} // namespace
} // namespace kernelc

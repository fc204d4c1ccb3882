// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-ask-masks: see Passes.td.
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "passes/cu/DeadCode.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUASKMASKS
#include "passes/Passes.h.inc"

namespace {

/// Choices of one loop from which on a question costs less than they do.
constexpr int64_t kFewestChoices = 16;
/// Elements of an array that are asked one by one.
constexpr int64_t kMostAsked = 4;

bool isPrivateArray(Value memory) { return memory.getDefiningOp<memref::AllocaOp>() && cu::spaceOf(memory) == cu::Private; }

/// The outermost of the unrolled loops around `op`; null without any.
scf::ForOp unrolledAround(Operation *op) {
  scf::ForOp found;
  for (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()); loop && cu::kUnroll.isAllOn(loop);
       loop = dyn_cast<scf::ForOp>(loop->getParentOp()))
    found = loop;
  return found;
}

/// Whether `loop` does nothing but compute and fill arrays of the thread.
bool isPlain(scf::ForOp loop) {
  bool all = loop->getNumResults() == 0;
  loop->walk([&](Operation *op) {
    auto inner = dyn_cast<scf::ForOp>(op);
    auto store = dyn_cast<memref::StoreOp>(op);
    auto load = dyn_cast<memref::LoadOp>(op);
    all &= isa<scf::YieldOp>(op) || isa_and_nonnull<arith::ArithDialect>(op->getDialect()) || (inner && cu::kUnroll.isAllOn(inner)) ||
           (store && isPrivateArray(store.getMemRef())) || (load && isPrivateArray(load.getMemRef()));
  });
  return all;
}

/// The comparisons of a mask in a loop of choices, and whether they hold for all that the loop may compare.
class Question {
public:
  Question(scf::ForOp loop) : loop_(loop), b_(loop), loc_(loop.getLoc()) {}

  /// Whether `condition` holds in all rounds, as a value ahead of the loop; null where that is not one question.
  Value holds(Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      Value x = holds(both.getLhs()), y = x ? holds(both.getRhs()) : Value();
      return y ? arith::AndIOp::create(b_, loc_, x, y).getResult() : Value();
    }
    if (auto load = condition.getDefiningOp<memref::LoadOp>()) {
      memref::StoreOp filled = findFill(load.getMemRef());
      return filled ? holds(filled.getValueToStore()) : Value();
    }
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return {};
    auto [strict, swapped] = std::pair(false, false);
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt: strict = true; break;
    case arith::CmpIPredicate::sle: break;
    case arith::CmpIPredicate::sgt: strict = swapped = true; break;
    case arith::CmpIPredicate::sge: swapped = true; break;
    default: return {};
    }
    Value x = compare.getLhs(), y = compare.getRhs();
    Value most = extreme(swapped ? y : x, true), least = most ? extreme(swapped ? x : y, false) : Value();
    auto predicate = strict ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sle;
    return least ? arith::CmpIOp::create(b_, loc_, predicate, most, least).getResult() : Value();
  }

  bool asksData() const { return asksData_; }

private:
  /// The one store to an array, in unrolled loops that stand ahead of the choices; null where there are others.
  memref::StoreOp findFill(Value array) {
    memref::StoreOp found;
    for (Operation *user : array.getUsers()) {
      if (isa<memref::LoadOp>(user))
        continue;
      auto store = dyn_cast<memref::StoreOp>(user);
      if (!store || found)
        return {};
      found = store;
    }
    return found && isPrivateArray(array) && isAhead(found) ? found : memref::StoreOp();
  }

  /// Whether `op` is done with where the choices are made, and not begun anew before them.
  bool isAhead(Operation *op) {
    scf::ForOp around = unrolledAround(op);
    Operation *top = around ? around.getOperation() : op;
    Operation *own = top->getBlock()->findAncestorOpInBlock(*loop_);
    return own && own != top && top->isBeforeInBlock(own);
  }

  /// The largest that `v` may be in the rounds of its unrolled loops, or the smallest; null where nobody knows.
  Value extreme(Value v, bool most) {
    if (auto loopOf = dyn_cast<BlockArgument>(v); loopOf && cu::isUnrolledVariable(v)) {
      auto unrolled = cast<scf::ForOp>(loopOf.getOwner()->getParentOp());
      std::optional<int64_t> end = getConstantIntValue(unrolled.getUpperBound());
      return end ? arith::ConstantIndexOp::create(b_, loc_, most ? *end - 1 : 0).getResult() : Value();
    }
    if (DominanceInfo(loop_->getParentOfType<cu::KernelOp>()).properlyDominates(v, loop_.getOperation()))
      return v;
    Operation *op = v.getDefiningOp();
    if (auto load = dyn_cast_or_null<memref::LoadOp>(op))
      return ofElements(load.getMemRef(), most);
    if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op)) {
      Value x = extreme(op->getOperand(0), most);
      return x ? again(op, x) : Value();
    }
    if (!op || !v.getType().isIndex()) // (sums of numbers from memory may wrap round)
      return {};
    if (isa<arith::AddIOp, arith::SubIOp>(op)) {
      Value x = extreme(op->getOperand(0), most), y = x ? extreme(op->getOperand(1), isa<arith::SubIOp>(op) != most) : Value();
      return y ? again(op, x, y) : Value();
    }
    std::optional<int64_t> by = isa<arith::MulIOp>(op) ? getConstantIntValue(op->getOperand(1)) : std::nullopt;
    Value x = by ? extreme(op->getOperand(0), (*by >= 0) == most) : Value();
    return x ? again(op, x, arith::ConstantIndexOp::create(b_, loc_, *by)) : Value();
  }

  Value again(Operation *op, Value x, Value y = {}) {
    if (isa<arith::AddIOp>(op))
      return b_.createOrFold<arith::AddIOp>(loc_, x, y);
    if (isa<arith::SubIOp>(op))
      return b_.createOrFold<arith::SubIOp>(loc_, x, y);
    if (isa<arith::MulIOp>(op))
      return b_.createOrFold<arith::MulIOp>(loc_, x, y);
    if (isa<arith::ExtSIOp>(op))
      return b_.createOrFold<arith::ExtSIOp>(loc_, op->getResult(0).getType(), x);
    return b_.createOrFold<arith::IndexCastOp>(loc_, op->getResult(0).getType(), x);
  }

  Value ofElements(Value array, bool most) {
    if (memref::StoreOp filled = findFill(array))
      if (Value found = extreme(filled.getValueToStore(), most))
        return found;
    auto type = cast<MemRefType>(array.getType());
    auto isWritten = [&](Operation *user) { return !isa<memref::LoadOp>(user) && !isAhead(user); };
    if (!isPrivateArray(array) || type.getRank() != 1 || type.getNumElements() > kMostAsked || llvm::any_of(array.getUsers(), isWritten))
      return {};
    asksData_ = true;
    Value found;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value at = arith::ConstantIndexOp::create(b_, loc_, i);
      Value x = memref::LoadOp::create(b_, loc_, array, at);
      found = !found ? x
              : most ? arith::MaxSIOp::create(b_, loc_, found, x).getResult()
                     : arith::MinSIOp::create(b_, loc_, found, x).getResult();
    }
    return found;
  }

  scf::ForOp loop_;
  OpBuilder b_;
  Location loc_;
  bool asksData_ = false;
};

bool isProduct(Operation *op) { return isa<cu::WgmmaOp, cu::WgmmaRegistersOp, cu::MmaOp>(op); }

/// The loop of rounds around `op`, one that is not unrolled.
scf::ForOp roundsAround(Operation *op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  while (loop && cu::kUnroll.isAllOn(loop))
    loop = loop->getParentOfType<scf::ForOp>();
  return loop;
}

/// How often `op` is computed in one pass of the unrolled loops around it.
int64_t timesOf(Operation *op) {
  int64_t times = 1;
  for (auto at = dyn_cast<scf::ForOp>(op->getParentOp()); at && cu::kUnroll.isAllOn(at); at = dyn_cast<scf::ForOp>(at->getParentOp()))
    times *= getConstantIntValue(at.getUpperBound()).value_or(1);
  return times;
}

/// Whether a round has products, and what CUDA cores do in it may hold them up; `own`: whether they stand in it without rounds of their
/// own.
bool hasProducts(scf::ForOp rounds, bool &own) {
  bool any = false;
  rounds->walk([&](Operation *op) {
    any |= isProduct(op);
    own |= isProduct(op) && roundsAround(op) == rounds;
  });
  return any;
}

/// Whether what `fill` reads is the same ahead of `end`, an op behind it in its block.
bool readsSame(scf::ForOp fill, Operation *end) {
  auto isBetween = [&](Operation *user) {
    Operation *at = fill->getBlock()->findAncestorOpInBlock(*user);
    return !isa<memref::LoadOp>(user) && at && at != fill && fill->isBeforeInBlock(at) && !end->isBeforeInBlock(at);
  };
  bool all = true;
  fill->walk([&](memref::LoadOp load) { all &= llvm::none_of(load.getMemRef().getUsers(), isBetween); });
  return all;
}

/// What fills an array of conditions or operands that only `masked` reads moves into its block.
void sinkFills(scf::ForOp masked) {
  SetVector<Operation *> arrays;
  masked->walk([&](memref::LoadOp load) {
    if (isPrivateArray(load.getMemRef()))
      arrays.insert(load.getMemRef().getDefiningOp());
  });
  for (Operation *array : arrays) {
    scf::ForOp fill;
    bool isOwn = true;
    for (Operation *user : array->getUsers()) {
      if (masked->isAncestor(user))
        continue;
      auto store = dyn_cast<memref::StoreOp>(user);
      isOwn &= store && !fill;
      fill = store ? unrolledAround(store) : scf::ForOp();
    }
    bool isAlone = isOwn && fill && isPlain(fill);
    if (isAlone)
      fill->walk([&](memref::StoreOp store) { isAlone &= store.getMemRef() == array->getResult(0); });
    Operation *own = isAlone ? fill->getBlock()->findAncestorOpInBlock(*masked) : nullptr;
    if (!own || own == fill || !fill->isBeforeInBlock(own) || !readsSame(fill, own))
      continue;
    array->moveBefore(&masked->getBlock()->front());
    fill->moveAfter(array);
  }
}

/// Whether `loop` does nothing but store to elements of arrays what they hold.
bool isIdle(scf::ForOp loop) {
  bool all = true;
  loop->walk([&](memref::StoreOp store) {
    auto load = store.getValueToStore().getDefiningOp<memref::LoadOp>();
    all &= load && load.getMemRef() == store.getMemRef() && load.getIndices() == store.getIndices();
  });
  return all;
}

/// Erases what stands behind `before`, up to `end`, for nobody.
void eraseDeadBetween(Operation *before, Operation *end) {
  Operation *op = end->getPrevNode();
  while (op != before) {
    Operation *next = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = next;
  }
}

/// Makes two of `loop`, of which one does without the masks that always hold there.
void askOnce(scf::ForOp loop) {
  scf::ForOp rounds = roundsAround(loop);
  bool ownProducts = false;
  if (!rounds || !isPlain(loop) || !hasProducts(rounds, ownProducts))
    return;
  Operation *before = loop->getPrevNode();
  SmallVector<arith::SelectOp> choices;
  Value all;
  Question question(loop);
  int64_t times = 0;
  loop->walk([&](arith::SelectOp choice) {
    Value holds = matchPattern(choice.getFalseValue(), m_Constant()) ? question.holds(choice.getCondition()) : Value();
    if (!holds)
      return;
    OpBuilder b(loop);
    all = all ? arith::AndIOp::create(b, loop.getLoc(), all, holds).getResult() : holds;
    choices.push_back(choice);
    times += timesOf(choice);
  });
  bool pays = all && times >= kFewestChoices && (!ownProducts || question.asksData());
  if (!pays)
    return eraseDeadBetween(before, loop);
  OpBuilder b(loop);
  auto branch = scf::IfOp::create(b, loop.getLoc(), all, true);
  OpBuilder plain = branch.getThenBodyBuilder();
  IRMapping map;
  Operation *unmasked = plain.clone(*loop, map);
  loop->moveBefore(branch.elseBlock()->getTerminator());
  for (arith::SelectOp choice : choices) {
    auto copy = map.lookup(choice.getResult()).getDefiningOp<arith::SelectOp>();
    copy.replaceAllUsesWith(copy.getTrueValue());
    copy.erase();
  }
  eraseDeadIn(unmasked);
  if (isIdle(cast<scf::ForOp>(unmasked))) {
    unmasked->erase();
    b.setInsertionPoint(branch);
    Value always = arith::ConstantOp::create(b, loop.getLoc(), b.getBoolAttr(true));
    auto some = scf::IfOp::create(b, loop.getLoc(), arith::XOrIOp::create(b, loop.getLoc(), all, always), false);
    loop->moveBefore(some.thenBlock()->getTerminator());
    branch.erase();
  }
  eraseDeadBetween(before, loop->getParentOp());
  sinkFills(loop);
}

struct CuAskMasksPass : impl::CuAskMasksBase<CuAskMasksPass> {
  void runOnOperation() override {
    SetVector<Operation *> loops;
    getOperation().getBody().walk([&](arith::SelectOp choice) {
      if (scf::ForOp loop = unrolledAround(choice))
        loops.insert(loop);
    });
    for (Operation *loop : loops)
      askOnce(cast<scf::ForOp>(loop));
  }
};

} // namespace
} // namespace kernelc

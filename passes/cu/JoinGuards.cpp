// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-join-guards: see Passes.td.
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUJOINGUARDS
#include "passes/Passes.h.inc"

namespace {

/// Branches of one condition from which on NVRTC's time shows that they are many: fewer are left as they are, with the code that ptxas
/// makes of them.
constexpr size_t kFewest = 32;

/// Statements of one block, from one branch of a condition to the last one that can join it.
class GuardedRun {
public:
  explicit GuardedRun(scf::IfOp first) : first_(first), block_(first->getBlock()) {}

  /// The last branch of the condition up to which nothing is seen of what happens where it does not hold; null where there are few.
  scf::IfOp findLast() {
    SmallVector<scf::IfOp> candidates;
    for (Operation *op = first_; op && canBeGuarded(op); op = op->getNextNode())
      if (isOfCondition(op))
        candidates.push_back(cast<scf::IfOp>(op));
    for (; candidates.size() >= kFewest; candidates.pop_back())
      if (last_ = candidates.back(); isUnseen())
        return last_;
    return {};
  }

  /// Makes one branch of the statements up to `findLast()`, and returns it.
  scf::IfOp join() {
    SmallVector<Operation *> statements;
    for (Operation *op = first_; op != last_; op = op->getNextNode())
      statements.push_back(op);
    statements.push_back(last_);
    OpBuilder b(first_);
    auto joined = scf::IfOp::create(b, first_.getLoc(), first_.getCondition(), false);
    Operation *end = joined.thenBlock()->getTerminator();
    for (Operation *array : ownArraysAhead())
      array->moveBefore(end);
    for (Operation *op : statements)
      op->moveBefore(end);
    SmallVector<scf::IfOp> inner;
    joined.thenBlock()->walk([&](scf::IfOp branch) {
      if (isOfCondition(branch))
        inner.push_back(branch);
    });
    for (scf::IfOp branch : inner) {
      for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator()))
        op.moveBefore(branch);
      branch.erase();
    }
    return joined;
  }

private:
  bool isOfCondition(Operation *op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    return branch && branch.getCondition() == first_.getCondition() && branch->getNumResults() == 0 && branch->getAttrs().empty();
  }

  /// The statement of the block that `op` is or is in; null where it is elsewhere.
  Operation *placeOf(Operation *op) const { return block_->findAncestorOpInBlock(*op); }
  bool isInRun(Operation *op) const {
    Operation *place = placeOf(op);
    return place && !place->isBeforeInBlock(first_) && (place == last_ || place->isBeforeInBlock(last_));
  }

  /// Whether an array is new wherever control passes the run: one that only statements of the run use is not seen elsewhere.
  bool isOwn(Value array) const {
    auto alloca = array.getDefiningOp<memref::AllocaOp>();
    return alloca && placeOf(alloca);
  }

  /// Whether a thread may leave `op` out where the condition does not hold, as far as its own arrays and results are not seen. Threads
  /// that wait for each other, or hand values to each other, need all of them.
  bool canBeGuarded(Operation *op) {
    if (isOfCondition(op)) // what it does stays under the condition
      return llvm::all_of(cast<scf::IfOp>(op).getElseRegion().getOps(), [&](Operation &o) { return canBeGuarded(&o); });
    bool here = llvm::TypeSwitch<Operation *, bool>(op)
                    .Case<memref::StoreOp>([&](auto store) { return isOwn(store.getMemRef()); })
                    .Case<cu::CopyOp>([&](auto copy) { return isOwn(copy.getTarget()); })
                    .Case<scf::ForOp, scf::IfOp, scf::YieldOp, memref::LoadOp, memref::AllocaOp, cu::CommentOp>([](auto) { return true; })
                    .Case<cu::ThreadIdOp, cu::BlockIdOp, cu::ConvertOp>([](auto) { return true; })
                    .Default([](Operation *o) {
                      return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(o->getDialect()) && isMemoryEffectFree(o);
                    });
    return here && llvm::all_of(op->getRegions(), [&](Region &region) {
             return llvm::all_of(region.getOps(), [&](Operation &inner) { return canBeGuarded(&inner); });
           });
  }

  /// Whether nobody but the run uses results of its statements, and arrays that they write where the condition does not hold.
  bool isUnseen() {
    WalkResult seen = WalkResult::advance();
    for (Operation *op = first_; !seen.wasInterrupted(); op = op->getNextNode()) {
      for (Operation *user : op->getUsers())
        if (!isInRun(user))
          return false;
      seen = op->walk([&](Operation *inner) {
        Value written = llvm::TypeSwitch<Operation *, Value>(inner)
                            .Case<memref::StoreOp>([](auto store) { return store.getMemRef(); })
                            .Case<cu::CopyOp>([](auto copy) { return copy.getTarget(); })
                            .Default([](Operation *) { return Value(); });
        bool alone = !written || !isOwn(written) || llvm::all_of(written.getUsers(), [&](Operation *user) { return isInRun(user); });
        return alone ? WalkResult::advance() : WalkResult::interrupt();
      });
      if (op == last_)
        break;
    }
    return !seen.wasInterrupted();
  }

  /// Arrays that stand before the run and are used in it alone, each behind the comment on it.
  SmallVector<Operation *> ownArraysAhead() {
    SmallVector<Operation *> arrays;
    for (Operation &op : llvm::make_range(block_->begin(), first_->getIterator()))
      if (isa<memref::AllocaOp>(op) && llvm::all_of(op.getUsers(), [&](Operation *user) { return isInRun(user); })) {
        if (auto comment = dyn_cast_or_null<cu::CommentOp>(op.getPrevNode()))
          arrays.push_back(comment);
        arrays.push_back(&op);
      }
    return arrays;
  }

  scf::IfOp first_, last_;
  Block *block_;
};

struct CuJoinGuardsPass : impl::CuJoinGuardsBase<CuJoinGuardsPass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks; // inner ones first, so that joining takes away only those that are done
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      for (Operation *op = block->empty() ? nullptr : &block->front(); op; op = op->getNextNode())
        if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch->getNumResults() == 0)
          if (GuardedRun run(branch); run.findLast())
            op = run.join();
  }
};

} // namespace
} // namespace kernelc

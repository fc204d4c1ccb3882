// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops of a launch that walk the same tiles become one: what several reductions read of a tile is loaded once, and what they compute
// of it alike is computed once (the weights of a sum and their own sum, a mean and a mean of squares).
#include "passes/lowerings/JoinRounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

namespace {

class RoundsJoiner {
public:
  RoundsJoiner(tile::FuncOp func, int64_t registers) : func_(func), registers_(registers) {
    func.walk([&](tile::StoreOp store) { written_.insert(store.getBase()); });
  }

  /// Not beside products: what their operands and their results' rows both need is loaded for each, in a layout of its own.
  bool hasSeveral() {
    bool any = false;
    if (func_.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return false;
    func_.walk([&](Block *block) { any |= llvm::count_if(*block, llvm::IsaPred<scf::ForOp>) > 1; });
    return any;
  }

  bool run() {
    bool any = false;
    for (Block &block : func_.getBody())
      any |= joinIn(block);
    return any;
  }

private:
  /// Rounds that load and compute alone, of tensors that this launch does not write.
  bool isReading(Operation &op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return !written_.contains(load.getBase());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &o) { return isReading(o); });
    return !isa<tile::DotOp>(op) && isMemoryEffectFree(&op);
  }

  static bool isSame(Value x, Value y) {
    std::optional<int64_t> a = getConstantIntValue(x), b = getConstantIntValue(y);
    return x == y || (a && a == b);
  }

  /// Whether they read some tile alike, where theirs lie at the same place.
  static bool shareTile(scf::ForOp x, scf::ForOp y) {
    llvm::DenseSet<std::tuple<Value, Attribute, Type>> seen;
    auto keyOf = [](tile::LoadOp load) {
      return std::tuple<Value, Attribute, Type>(load.getBase(), AffineMapAttr::get(load.getMap()), load.getType());
    };
    x.walk([&](tile::LoadOp load) { seen.insert(keyOf(load)); });
    return y.walk([&](tile::LoadOp load) { return seen.contains(keyOf(load)) ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  }

  /// Registers of a thread for what the loop carries, where terms that are reduced behind it are added up in it (carriedLayout).
  int64_t sumsOf(scf::ForOp loop) {
    int64_t all = 0;
    for (auto [sum, init] : llvm::zip(loop->getResults(), loop.getInitArgs())) {
      auto type = dyn_cast<RankedTensorType>(sum.getType());
      if (!type || (isa<BlockArgument>(init) && isa<scf::ForOp>(loop->getParentOp()))) // (a loop around it carries it)
        continue;
      int64_t elements = type.getNumElements();
      if (auto reduce = sum.hasOneUse() ? dyn_cast<tile::ReduceOp>(*sum.user_begin()) : tile::ReduceOp())
        for (int64_t d : reduce.getDims())
          elements /= type.getDimSize(d);
      all += llvm::divideCeil(elements, 32 * int64_t(func_.getWarps()));
    }
    return all;
  }

  /// What `second` needs of the operations between the loops; nothing where some of it waits for the first, or cannot move before it.
  std::optional<SetVector<Operation *>> findNeeded(scf::ForOp first, scf::ForOp second) {
    SetVector<Operation *> needed;
    SmallVector<Operation *> work{second};
    while (!work.empty()) {
      bool ok = true;
      work.pop_back_val()->walk([&](Operation *user) {
        for (Value v : user->getOperands()) {
          Operation *def = v.getDefiningOp();
          def = def ? first->getBlock()->findAncestorOpInBlock(*def) : nullptr;
          if (!def || def == second || def->isBeforeInBlock(first) || needed.contains(def))
            continue;
          ok &= def != first && isReading(*def);
          needed.insert(def);
          work.push_back(def);
        }
      });
      if (!ok)
        return std::nullopt;
    }
    return needed;
  }

  bool join(scf::ForOp first, scf::ForOp second) {
    if (!isSame(first.getLowerBound(), second.getLowerBound()) || !isSame(first.getUpperBound(), second.getUpperBound()) ||
        !isSame(first.getStep(), second.getStep()) || !isReading(*first) || !isReading(*second) || !shareTile(first, second) ||
        sumsOf(first) + sumsOf(second) > registers_)
      return false;
    std::optional<SetVector<Operation *>> needed = findNeeded(first, second);
    if (!needed)
      return false;
    SmallVector<Operation *> moved(needed->begin(), needed->end());
    llvm::sort(moved, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : moved)
      op->moveBefore(first);

    OpBuilder b(first);
    SmallVector<Value> starts(first.getInitArgs());
    llvm::append_range(starts, second.getInitArgs());
    auto both = scf::ForOp::create(b, first.getLoc(), first.getLowerBound(), first.getUpperBound(), first.getStep(), starts);
    both->setDiscardableAttrs(first->getDiscardableAttrDictionary());
    if (starts.empty())
      both.getBody()->getTerminator()->erase();
    both.getInductionVar().setLoc(first.getInductionVar().getLoc());
    for (auto [is, was] :
         llvm::zip(both.getRegionIterArgs(), llvm::concat<BlockArgument>(first.getRegionIterArgs(), second.getRegionIterArgs())))
      is.setLoc(was.getLoc());
    b.setInsertionPointToEnd(both.getBody());
    SmallVector<Value> carried;
    unsigned at = 0;
    for (scf::ForOp loop : {first, second}) {
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), both.getInductionVar());
      mapping.map(loop.getRegionIterArgs(), both.getRegionIterArgs().slice(at, loop.getNumResults()));
      for (Operation &op : loop.getBody()->without_terminator())
        b.clone(op, mapping);
      for (Value v : loop.getYieldedValues())
        carried.push_back(mapping.lookupOrDefault(v));
      loop.replaceAllUsesWith(both.getResults().slice(at, loop.getNumResults()));
      at += loop.getNumResults();
    }
    scf::YieldOp::create(b, first.getLoc(), carried);
    second.erase();
    first.erase();
    return true;
  }

  bool joinIn(Block &block) {
    bool any = false;
    for (auto loops = llvm::to_vector(block.getOps<scf::ForOp>()); bool(loops.size() > 1);) {
      bool joined = false;
      for (size_t i = 0; i < loops.size() && !joined; ++i)
        for (size_t j = i + 1; j < loops.size() && !joined; ++j)
          joined = join(loops[i], loops[j]);
      any |= joined;
      if (!joined)
        break;
      loops = llvm::to_vector(block.getOps<scf::ForOp>());
    }
    for (Operation &op : block)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          any |= joinIn(inner);
    return any;
  }

  tile::FuncOp func_;
  int64_t registers_;
  llvm::DenseSet<Value> written_;
};

} // namespace

static void mergeEqual(tile::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  DominanceInfo dominance(func);
  eliminateCommonSubExpressions(rewriter, dominance, func);
}

void joinRounds(tile::FuncOp func, int64_t registers) {
  RoundsJoiner joiner(func, registers);
  if (!joiner.hasSeveral())
    return;
  do
    mergeEqual(func); // so that equal ends are one value, also of loops in what has become one
  while (joiner.run());
}

} // namespace kernelc

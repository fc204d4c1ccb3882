// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-load-ahead: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/tile/Tile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/Access.h"
#include "passes/tile/Carried.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILELOADAHEAD
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// What a load's place is computed from in the body of `loop`, in order; nothing where that is more than the loop's own index.
std::optional<SetVector<Operation *>> findPlace(scf::ForOp loop, LoadOp load) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.filter = [&](Operation *op) { return op->getBlock() == loop.getBody(); };
  if (failed(getBackwardSlice(load.getOperation(), &slice, options)))
    return std::nullopt;
  auto isCarried = [&](Value v) { return llvm::is_contained(loop.getRegionIterArgs(), v); };
  auto stays = [&](Operation *op) { return (op != load && !isScalarCode(op)) || llvm::any_of(op->getOperands(), isCarried); };
  if (stays(load) || llvm::any_of(slice, stays))
    return std::nullopt;
  return slice;
}

/// A loop in which each round takes in what it reads, or reads what the rounds before it have written, and nothing is in flight.
bool isWalk(scf::ForOp loop) {
  auto isStep = [](Operation &op) {
    auto barrier = dyn_cast<BarrierOp>(op);
    return barrier && barrier.getStep();
  };
  auto isPlain = [&](Operation &op) {
    return op.getNumRegions() == 0 || isa<ReduceOp>(op)
               ? !isa<DotOp>(op) && (isa<LoadOp, StoreOp>(op) || isStep(op) || isMemoryEffectFree(&op))
               : false;
  };
  bool takesIn = llvm::any_of(loop.getRegionIterArgs(), [](Value v) { return isa<RankedTensorType>(v.getType()); });
  return (takesIn || llvm::any_of(*loop.getBody(), isStep)) && llvm::all_of(loop.getBody()->without_terminator(), isPlain);
}

SmallVector<LoadOp> findEarly(scf::ForOp loop) {
  return llvm::filter_to_vector(llvm::to_vector(loop.getBody()->getOps<LoadOp>()), [&](LoadOp load) {
    return load.getIndexTiles().empty() && !load.getPadding() && isOnlyRead(load.getBase()) && findPlace(loop, load);
  });
}

/// A number that a loop begins or ends at, where the sizes need not be asked.
std::optional<int64_t> numberOf(Value v) {
  if (auto apply = v.getDefiningOp<ApplyOp>(); apply && apply.getOperands_().empty())
    if (auto constant = dyn_cast<AffineConstantExpr>(apply.getMap().getResult(0)))
      return constant.getValue();
  return getConstantIntValue(v);
}

/// A loop of several rounds at a time, and which of its operations are whose.
struct Unrolled {
  scf::ForOp loop;
  SmallVector<Operation *> last; ///< of each round
};

std::optional<Unrolled> unroll(scf::ForOp loop, int64_t rounds) {
  // (constants, so that no rounds are left over where none are)
  OpBuilder b(loop);
  if (std::optional<int64_t> end = numberOf(loop.getUpperBound()))
    loop.setUpperBound(arith::ConstantIndexOp::create(b, cu::unnamed(loop.getLoc()), *end));
  SmallVector<Operation *> last(static_cast<size_t>(rounds));
  last[0] = loop.getBody()->getTerminator()->getPrevNode(); // the first round is the loop's own
  Location loc = loop.getLoc();
  loop->setLoc(loop.getInductionVar().getLoc()); // what rounds count by has its name
  FailureOr<UnrolledLoopInfo> made =
      loopUnrollByFactor(loop, uint64_t(rounds), [&](unsigned round, Operation *op, OpBuilder) { last[round] = op; });
  if (failed(made) || !made->mainLoopOp)
    return std::nullopt;
  (*made->mainLoopOp)->setLoc(loc);
  return Unrolled{*made->mainLoopOp, std::move(last)};
}

/// Clones `load` and what its place is computed from, for a first round that starts at `at`.
LoadOp cloneAt(OpBuilder &b, scf::ForOp loop, LoadOp load, Value at) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), at);
  std::optional<SetVector<Operation *>> place = findPlace(loop, load);
  for (Operation *op : *place)
    b.clone(*op, mapping);
  return cast<LoadOp>(b.clone(*load, mapping));
}

/// What the loads `first` of a loop's first round read, made before the loop where there are rounds.
SmallVector<Value> readFirst(scf::ForOp loop, ArrayRef<LoadOp> first) {
  OpBuilder b(loop);
  Location plain = cu::unnamed(loop.getLoc());
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  std::optional<int64_t> from = numberOf(begin), to = numberOf(end);
  if (from && to && *from < *to)
    return llvm::map_to_vector(first, [&](LoadOp load) -> Value { return cloneAt(b, loop, load, begin).getResult(); });
  SmallVector<Value> inits;
  for (LoadOp load : first) {
    auto type = cast<RankedTensorType>(load.getResult().getType());
    auto none = SplatElementsAttr::get(type, cast<Attribute>(b.getZeroAttr(type.getElementType())));
    inits.push_back(arith::ConstantOp::create(b, load.getLoc(), type, none));
  }
  Value one = arith::ConstantIndexOp::create(b, plain, 1);
  Value once = arith::MinSIOp::create(b, plain, end, arith::AddIOp::create(b, plain, begin, one));
  auto ahead = scf::ForOp::create(b, plain, begin, once, one, inits);
  for (auto [arg, load] : llvm::zip(ahead.getRegionIterArgs(), first))
    arg.setLoc(LoadOp(load).getLoc());
  ahead.getInductionVar().setLoc(loop.getInductionVar().getLoc());
  b.setInsertionPointToEnd(ahead.getBody());
  SmallVector<Value> values =
      llvm::map_to_vector(first, [&](LoadOp load) -> Value { return cloneAt(b, loop, load, ahead.getInductionVar()).getResult(); });
  scf::YieldOp::create(b, plain, values);
  return llvm::to_vector_of<Value>(ahead.getResults());
}

/// Half of the rounds at a time: while those of one half are worked on, what the other half reads is on its way. (All of a half is asked
/// for together: a thread waits for its loads by few counters, which loads of several times would share.)
void rotate(Unrolled &u) {
  scf::ForOp loop = u.loop;
  size_t half = u.last.size() / 2;
  SmallVector<LoadOp> first, second; // of the rounds that begin a turn of the loop, and of the others
  size_t round = 0;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto load = dyn_cast<LoadOp>(op); load && llvm::is_contained(findEarly(loop), load))
      (round < half ? first : second).push_back(load);
    round += &op == u.last[round] && round + 1 < u.last.size();
  }
  FailureOr<SmallVector<BlockArgument>> carried = carry(loop, readFirst(loop, first));
  if (failed(carried))
    return;
  // The last turn reads what it has once more: nothing comes of it, and no place is outside.
  OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
  Location plain = cu::unnamed(loop.getLoc());
  Value last = arith::SubIOp::create(b, plain, loop.getUpperBound(), loop.getStep());
  last.getDefiningOp()->moveBefore(loop);
  Value next = arith::AddIOp::create(b, plain, loop.getInductionVar(), loop.getStep());
  next = arith::MinSIOp::create(b, plain, next, last);
  auto replace = [](LoadOp load, Value by) {
    load.getResult().replaceAllUsesWith(by);
    load.erase();
  };
  for (LoadOp load : second)
    replace(load, cloneAt(b, loop, load, loop.getInductionVar()).getResult());
  b.setInsertionPointAfter(u.last[half - 1]);
  for (auto [load, arg] : llvm::zip(first, *carried)) {
    arg.setLoc(load.getLoc());
    setCarried(arg, cloneAt(b, loop, load, next).getResult());
  }
  for (auto [load, arg] : llvm::zip(first, *carried))
    replace(load, arg);
}

struct TileLoadAheadPass : impl::TileLoadAheadBase<TileLoadAheadPass> {
  void runOnOperation() override {
    int64_t rounds = getOperation().getAhead();
    if (rounds < 1)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<int64_t> from = numberOf(loop.getLowerBound()), to = numberOf(loop.getUpperBound()),
                             step = getConstantIntValue(loop.getStep());
      bool isShort = from && to && step && *to - *from < 4 * rounds * *step;
      if (isShort || !isWalk(loop) || findEarly(loop).empty())
        continue;
      if (std::optional<Unrolled> u = unroll(loop, 2 * rounds))
        rotate(*u);
    }
  }
};

} // namespace
} // namespace kernelc

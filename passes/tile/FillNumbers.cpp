// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/FillNumbers.h"

#include "ir/cu/Cu.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile/Carried.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

scf::ForOp allRounds(scf::ForOp loop) {
  auto chunks = dyn_cast<scf::ForOp>(loop->getParentOp());
  return chunks && loop.getLowerBound() == chunks.getInductionVar() ? chunks : loop;
}

/// Whether the rounds of `loop` count 0, 1, 2, ..
static bool countsRounds(scf::ForOp loop) {
  return getConstantIntValue(allRounds(loop).getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1;
}

Location FillNumbers::named(StringRef name, Location loc) { return NameLoc::get(b_.getStringAttr(name), cu::unnamed(loc)); }

FillNumbers::Family *FillNumbers::findFamily(Operation *place, ArrayRef<RingType> types, ChannelType channel) {
  auto loop = dyn_cast<scf::ForOp>(place->getParentOp());
  auto hasSlotsOf = [](RingType x, RingType y) {
    auto tiled = [](RingType ring) {
      return SmallVector<int64_t>(llvm::make_filter_range(ring.getShape(), [](int64_t n) { return n > 1; }));
    };
    auto isInner = [](RingType ring) {
      return llvm::all_of(ring.getShape().drop_front(ring.getContiguous() + 1), [](int64_t n) { return n == 1; });
    };
    return tiled(x) == tiled(y) && tiled(x).size() == 2 && isInner(x) == isInner(y) && x.getElementType() == y.getElementType() &&
           x.getSlots() == y.getSlots() && x.getPad() == y.getPad();
  };
  for (Family &f : families_)
    if (loop && loop != f.last && loop->getBlock() == f.last->getBlock() && f.last->isBeforeInBlock(loop) && countsRounds(loop) &&
        countsRounds(f.last) && allRounds(loop) == loop && allRounds(f.last) == f.last && channel == f.channelType &&
        llvm::equal(types, f.types, hasSlotsOf))
      return &f;
  return nullptr;
}

Value FillNumbers::numberBehind(Family &f, Operation *place, Location loc) {
  auto loop = cast<scf::ForOp>(place->getParentOp());
  Value before = beforeIn(f.last);
  b_.setInsertionPoint(loop);
  Value start = f.last.getUpperBound();
  if (before) {
    start = arith::AddIOp::create(b_, named("filled", loc), before, start);
    BlockArgument count = cast<BlockArgument>(countOf(before));
    OpBuilder atEnd(count.getOwner()->getTerminator());
    setCarried(count, arith::AddIOp::create(atEnd, named("next", loc), getCarriedNext(count), loop.getUpperBound()));
  }
  b_.setInsertionPoint(place);
  numbers_.push_back(arith::AddIOp::create(b_, named("number", loc), start, loop.getInductionVar()));
  return numbers_.back();
}

Value FillNumbers::countOf(Value before) {
  while (auto add = before.getDefiningOp<arith::AddIOp>())
    before = add.getLhs();
  return before;
}

FailureOr<Value> FillNumbers::numberAt(Operation *place, Location loc) {
  auto loop = dyn_cast<scf::ForOp>(place->getParentOp());
  FailureOr<Value> before = Value();
  if (loop && countsRounds(loop)) {
    before = beforeIn(loop);
    if (!*before)
      before = countBefore(loop, loc);
    if (failed(before))
      return failure();
  } else if (loop) {
    before = countThrough(loop, loc, [&](OpBuilder &b, Value filled) -> Value {
      return arith::AddIOp::create(b, named("next", loc), filled, arith::ConstantIndexOp::create(b, loc, 1));
    });
    b_.setInsertionPoint(place);
    return before;
  }
  b_.setInsertionPoint(place); // (loops that carry a count are other ops now)
  if (!loop)
    return Value(arith::ConstantIndexOp::create(b_, loc, 0));
  if (!*before)
    return Value(loop.getInductionVar());
  numbers_.push_back(arith::AddIOp::create(b_, named("number", loc), *before, loop.getInductionVar()));
  return Value(numbers_.back());
}

Value FillNumbers::beforeIn(scf::ForOp loop) {
  auto number = llvm::find_if(numbers_, [&](arith::AddIOp add) { return add->getParentOp() == loop; });
  return number == numbers_.end() ? Value() : number->getLhs();
}

FailureOr<Value> FillNumbers::countBefore(scf::ForOp loop, Location loc) {
  scf::ForOp rounds = allRounds(loop);
  if (rounds->getParentOp() == func_)
    return Value();
  auto outer = dyn_cast<scf::ForOp>(rounds->getParentOp());
  if (!outer)
    return loop.emitOpError() << "stands in a loop whose rounds cannot be counted";
  return countThrough(outer, loc, [&](OpBuilder &b, Value filled) -> Value {
    return arith::AddIOp::create(b, named("next", loc), filled, rounds.getUpperBound());
  });
}

FailureOr<Value> FillNumbers::countThrough(scf::ForOp loop, Location loc, llvm::function_ref<Value(OpBuilder &, Value)> next) {
  FailureOr<BlockArgument> count = carryInto(loop, loc);
  if (failed(count))
    return failure();
  OpBuilder atEnd(loop.getBody()->getTerminator());
  setCarried(*count, next(atEnd, *count));
  return Value(*count);
}

FailureOr<BlockArgument> FillNumbers::carryInto(scf::ForOp &loop, Location loc) {
  auto outer = dyn_cast<scf::ForOp>(loop->getParentOp());
  if (!outer && loop->getParentOp() != func_)
    return loop.emitOpError() << "stands in a loop whose rounds cannot be counted";
  FailureOr<BlockArgument> around = outer ? carryInto(outer, loc) : FailureOr<BlockArgument>(BlockArgument());
  if (failed(around))
    return failure();
  OpBuilder before(loop);
  Value init = outer ? Value(*around) : arith::ConstantIndexOp::create(before, loc, 0);
  auto carried = carry(loop, init);
  if (failed(carried))
    return failure();
  carried->front().setLoc(NameLoc::get(b_.getStringAttr("filled"), loc));
  if (outer)
    setCarried(*around, loop.getResults().back());
  return carried->front();
}

} // namespace kernelc

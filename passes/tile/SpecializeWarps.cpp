// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-specialize-warps: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/te/ScheduleLoc.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/tile/Carried.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESPECIALIZEWARPS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// The channel that an op of a producer's part fills slots of; null for other ops.
Value filledChannel(Operation *op) {
  if (auto acquire = dyn_cast<AcquireOp>(op))
    return acquire.getChannel();
  if (auto filled = dyn_cast<FilledOp>(op))
    return filled.getChannel();
  auto copy = dyn_cast<RingCopyOp>(op);
  return copy ? copy.getChannel() : Value();
}

bool holdsProducerOp(Operation *op, Value channel) {
  return op->walk([&](Operation *inner) { return filledChannel(inner) == channel ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool isTile(Type t) { return isa<RankedTensorType>(t); }

/// Index arithmetic, constants and allocations: what both roles may share.
bool isShared(Operation *op) { return isa<RingOp, ChannelOp, arith::ConstantOp>(op) || isScalarCode(op); }

/// The values that what fills the rings of `channel` within `whole` is computed from, those that loops carry among them.
llvm::SetVector<Value> neededBy(Operation *whole, Value channel) {
  llvm::SetVector<Value> needed;
  whole->walk([&](Operation *op) {
    if (filledChannel(op) != channel)
      return;
    for (;; op = op->getParentOp()) { // and that it is reached: bounds, conditions
      if (auto loop = dyn_cast<scf::ForOp>(op))
        needed.insert_range(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
      else
        needed.insert_range(op->getOperands());
      if (op == whole)
        break;
    }
  });
  for (size_t n = 0; n < needed.size(); ++n) {
    Value v = needed[n];
    auto carried = dyn_cast<BlockArgument>(v);
    Operation *op = carried ? carried.getOwner()->getParentOp() : v.getDefiningOp();
    if (!whole->isAncestor(op))
      continue;
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop) { // a search has a region
      op->walk([&](Operation *part) { needed.insert_range(part->getOperands()); });
    } else if (v != loop.getInductionVar()) {
      unsigned i = carried ? carried.getArgNumber() - loop.getNumInductionVars() : cast<OpResult>(v).getResultNumber();
      needed.insert_range(ValueRange{loop.getRegionIterArg(i), loop.getYieldedValues()[i], loop.getInitArgs()[i]});
    }
  }
  return needed;
}

/// Clones the part of `op` that fills the rings of `channel`, for which values are `needed`: loops without their tiles.
void cloneProducer(OpBuilder &b, Operation *op, Value channel, const llvm::SetVector<Value> &needed, IRMapping &mapping) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    SmallVector<unsigned> kept; // carried values that are no tiles: counters
    SmallVector<Value> inits;
    for (auto [i, init] : llvm::enumerate(loop.getInitArgs()))
      if (!isTile(init.getType()) && needed.contains(loop.getRegionIterArg(i))) {
        kept.push_back(i);
        inits.push_back(mapping.lookupOrDefault(init));
      }
    auto clone = scf::ForOp::create(b, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                                    mapping.lookupOrDefault(loop.getUpperBound()), mapping.lookupOrDefault(loop.getStep()), inits);
    clone.getInductionVar().setLoc(loop.getInductionVar().getLoc());
    mapping.map(loop.getInductionVar(), clone.getInductionVar());
    for (auto [n, i] : llvm::enumerate(kept)) {
      clone.getRegionIterArg(n).setLoc(loop.getRegionIterArg(i).getLoc());
      mapping.map(loop.getRegionIterArg(i), clone.getRegionIterArg(n));
      mapping.map(loop.getResult(i), clone.getResult(n));
    }
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(clone.getBody());
    // (What data says of how far a loop goes is loaded by both roles.)
    auto isNeeded = [&](Operation &inner) {
      return inner.getNumRegions() == 0 && llvm::any_of(inner.getResults(), [&](Value v) { return needed.contains(v); });
    };
    for (Operation &inner : loop.getBody()->without_terminator())
      if (isShared(&inner) || isNeeded(inner) || holdsProducerOp(&inner, channel))
        cloneProducer(b, &inner, channel, needed, mapping);
    SmallVector<Value> yielded;
    for (unsigned i : kept)
      yielded.push_back(mapping.lookupOrDefault(loop.getYieldedValues()[i]));
    if (!kept.empty())
      scf::YieldOp::create(b, loop.getLoc(), yielded);
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(*clone.getBody())))
      if (isOpTriviallyDead(&inner))
        inner.erase();
    return;
  }
  b.clone(*op, mapping);
}

/// A producer that searches is run by its whole warp: one lane fills.
void elect(Region &producer) {
  bool searches =
      producer.walk([](Operation *op) { return isSearch(op) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
  if (!searches)
    return;
  Location loc = cu::unnamed(producer.getLoc());
  OpBuilder b(producer);
  SmallVector<Operation *> fills;
  producer.walk([&](Operation *op) {
    if (filledChannel(op))
      fills.push_back(op);
  });
  scf::IfOp branch;
  for (Operation *op : fills) {
    if (!branch || branch->getNextNode() != op) {
      b.setInsertionPoint(op);
      Value leader = LeaderOp::create(b, NameLoc::get(b.getStringAttr("leader"), loc), b.getI1Type());
      branch = scf::IfOp::create(b, loc, leader, false);
    }
    op->moveBefore(branch.thenBlock()->getTerminator());
  }
}

/// for tile { A; B }  →  for tile, turn { A; if turn mod teams == team { B } }: A is what the loop
/// carries on, which every team counts for the tiles of the others too.
FailureOr<scf::IfOp> takeTurns(scf::ForOp loop, int64_t teams, Value &turn) {
  Location loc = cu::unnamed(loop.getLoc());
  if (llvm::any_of(loop.getInitArgs().getTypes(), isTile))
    return loop.emitOpError() << "carries a tile from one team's turn to the next";
  FailureOr<Value> count = carryCount(loop, "turn", loc, [&](OpBuilder &b, Value before) -> Value {
    return arith::AddIOp::create(b, loc, before, arith::ConstantIndexOp::create(b, loc, 1));
  });
  if (failed(count))
    return failure();
  turn = *count;
  Block *body = loop.getBody();
  llvm::SetVector<Operation *> carried;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) { return op->getBlock() == body; };
  for (Value v : body->getTerminator()->getOperands())
    if (failed(getBackwardSlice(v, &carried, options)))
      return failure();
  for (Operation *op : carried)
    if (!isShared(op))
      return op->emitOpError() << "is one team's, and what the others count depends on it";
  OpBuilder b(body->getTerminator());
  Operation *last = body->getTerminator()->getPrevNode();
  Value whose = arith::RemSIOp::create(b, loc, turn, arith::ConstantIndexOp::create(b, loc, teams));
  Value team = TeamOp::create(b, NameLoc::get(b.getStringAttr("team"), loc), b.getIndexType());
  Value mine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, whose, team);
  auto branch = scf::IfOp::create(b, loc, mine, false);
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(body->begin(), std::next(last->getIterator()))))
    if (!carried.contains(&op))
      op.moveBefore(branch.thenBlock()->getTerminator());
  return branch;
}

/// Lets the teams await slots of each ring that they share in turns: products, then what
/// epilogues read.
void orderAwaits(FuncOp func, scf::IfOp branch, Value turn) {
  OpBuilder setup = OpBuilder::atBlockBegin(&func.getBlock());
  Location loc = cu::unnamed(branch.getLoc());
  auto enclose = [&](Operation *first, Operation *last) {
    Value order = OrderOp::create(setup, loc, OrderType::get(setup.getContext(), func.getPingpong()));
    OpBuilder b(first);
    TakeTurnOp::create(b, loc, order, turn);
    b.setInsertionPointAfter(last);
    PassTurnOp::create(b, loc, order, turn);
  };
  Operation *first = nullptr, *last = nullptr; // of what waits in the branch itself
  for (Operation &op : llvm::make_early_inc_range(*branch.thenBlock())) {
    if (isa<AwaitOp>(op))
      first = first ? first : &op;
    else if (isa<ReleaseOp>(op))
      last = &op;
    else if (op.getNumRegions() && op.walk([](AwaitOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
      // Between a loop of products and the wait for its last one ptxas takes nothing, or serialises them all.
      Operation *end = &op;
      while (isa<DotWaitOp>(end->getNextNode()))
        end = end->getNextNode();
      enclose(&op, end);
    }
  }
  if (first)
    enclose(first, last);
}

/// Rings that are filled together have a producer of their own: none waits for another's slots.
FailureOr<SmallVector<Value>> findChannels(FuncOp func) {
  SmallVector<Value> channels;
  func.walk([&](AcquireOp acquire) {
    if (!llvm::is_contained(channels, acquire.getChannel()))
      channels.push_back(acquire.getChannel());
  });
  if (channels.empty())
    return func.emitOpError() << "has producer warps and no ring that they could fill";
  int64_t warps = 0;
  for (Value channel : channels)
    warps += cast<ChannelType>(channel.getType()).getFillingWarps();
  if (warps > int64_t(func.getProducerWarps()))
    return mlir::emitError(te::getScheduleLoc(func))
           << "the schedule of '" << func.getSymName() << "' has " << channels.size() << " sets of slots, which take " << warps
           << " warps to fill, and " << func.getProducerWarps() << " producer warps";
  return channels;
}

/// Fills each role with its part of what `ops` do.
void fillRoles(RolesOp roles, ArrayRef<Value> channels, ArrayRef<Operation *> ops) {
  OpBuilder b(roles.getContext());
  for (auto [region, channel] : llvm::zip(roles.getProducers(), channels)) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    IRMapping mapping;
    for (Operation *op : ops)
      if (holdsProducerOp(op, channel))
        cloneProducer(b, op, channel, neededBy(op, channel), mapping);
    elect(region);
  }
  Block &consumer = roles.getConsumer().front();
  for (Operation *op : ops)
    op->moveBefore(&consumer, consumer.end());
  SmallVector<Operation *> filled;
  consumer.walk([&](Operation *op) {
    if (filledChannel(op))
      filled.push_back(op);
  });
  for (Operation *op : filled)
    op->erase();
  consumer.walk([](scf::ForOp loop) { stopUnusedCounts(loop); });
}

struct TileSpecializeWarpsPass : impl::TileSpecializeWarpsBase<TileSpecializeWarpsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (!func.getProducerWarps())
      return;
    const Target *target = findTarget(absl::string_view(func.getTarget().data(), func.getTarget().size()));
    if (!target) {
      func.emitError() << "unknown target '" << func.getTarget() << "'";
      return signalPassFailure();
    }
    FailureOr<SmallVector<Value>> channels = findChannels(func);
    if (failed(channels))
      return signalPassFailure();
    RegisterShares registers = shareRegisters(*target, func.getProducerWarps() * 32, func.getConsumerWarps() * 32, func.getMinBlocks(),
                                              int64_t(func.getProducerRegisters()));
    OpBuilder b = OpBuilder::atBlockEnd(&func.getBlock());
    auto roles = RolesOp::create(b, func.getLoc(), registers.producer, registers.consumer, channels->size());
    Block &consumer = roles.getConsumer().emplaceBlock();
    SmallVector<Operation *> rest;
    for (Operation &op : func.getBlock())
      if (!isShared(&op) && &op != roles)
        rest.push_back(&op);
    fillRoles(roles, *channels, rest);
    if (func.getPingpong() > 1)
      for (auto loop : llvm::to_vector(consumer.getOps<scf::ForOp>())) {
        Value turn;
        FailureOr<scf::IfOp> branch = takeTurns(loop, func.getPingpong(), turn);
        if (failed(branch))
          return signalPassFailure();
        orderAwaits(func, *branch, turn);
      }
  }
};

} // namespace
} // namespace kernelc

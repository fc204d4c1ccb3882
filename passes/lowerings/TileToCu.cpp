// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-to-cu: see Passes.td. Which op goes where; each kind has a file of its own.
#include "passes/Passes.h"

#include "ir/cu/Marks.h"
#include "ir/te/ScheduleLoc.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/FunctionLowering.h"
#include "passes/lowerings/Tables.h"
#include "support/Target.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILETOCU
#include "passes/Passes.h.inc"

using namespace tile;

LogicalResult FunctionLowering::run() {
  const Target *target = findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size()));
  if (target) {
    c_.hasAsyncCopy = target->asyncCopy;
    c_.hasLdmatrix = target->generation >= 75;
    c_.hasStmatrix = target->generation >= 90;
    c_.hasVectorAdds = target->generation >= 90;
  }
  makeKernel();
  arriveForClusterReduce(c_);
  openOwnMemory();
  openTallies(c_);
  if (target)
    openTables(c_, target->costs->threads);
  if (failed(lowerBlock(func_.getBlock())))
    return failure();
  closeTallies(c_);
  endClusterReduce(c_);
  // A launch that waits for this one then waits for those before it too.
  if (func_.getDependent() && func_.getWaitsLast())
    cu::LaunchWaitOp::create(b_, cu::unnamed(func_.getLoc()));
  if (target && c_.sharedBytes > target->maxSharedPerBlock)
    return mlir::emitError(te::getScheduleLoc(func_))
           << "the schedule of '" << func_.getSymName() << "' needs " << c_.sharedBytes << " bytes of shared memory a block; "
           << target->name << " has " << target->maxSharedPerBlock;
  if (target && int64_t(kernel_.getThreads()) > target->maxThreadsPerBlock)
    return mlir::emitError(te::getScheduleLoc(func_)) << "the schedule of '" << func_.getSymName() << "' needs " << kernel_.getThreads()
                                                      << " threads a block; " << target->name << " has " << target->maxThreadsPerBlock;
  kernel_.setSharedBytes(c_.sharedBytes);
  dropUnusedArguments();
  prefetchTensorMaps();
  return success();
}

/// Whether a run goes on behind a part with what is computed from it.
static bool goesOn(ArrayRef<Operation *> run, SliceOp slice) {
  Layout layout = getLayout(run.front()->getResult(0));
  for (Operation *next = slice->getNextNode(); next; next = next->getNextNode()) {
    if (isRematerialized(next) || isa<SliceOp>(next))
      continue;
    if (!isElementwise(next) || !(getLayout(next->getResult(0)) == layout))
      return false;
    if (llvm::any_of(next->getOperands(), [&](Value v) { return llvm::is_contained(run, v.getDefiningOp()); }))
      return true;
  }
  return false;
}

LogicalResult FunctionLowering::lowerBlock(Block &block) {
  SmallVector<Operation *> run;
  auto flush = [&] {
    if (!run.empty())
      lowerRun(run);
    run.clear();
  };
  for (Operation &op : block) {
    if (isRematerialized(&op))
      continue;
    if (isElementwise(&op)) {
      Layout layout = getLayout(op.getResult(0));
      if (!run.empty() && !(getLayout(run.front()->getResult(0)) == layout))
        flush();
      run.push_back(&op);
      continue;
    }
    // Nor does a part of what was there before, where the run goes on behind it: the run reads it where it is.
    if (auto slice = dyn_cast<SliceOp>(op); slice && !llvm::is_contained(run, slice.getInput().getDefiningOp())) {
      if (!run.empty() && !goesOn(run, slice))
        flush();
      lowerSlice(slice);
      continue;
    }
    // Scalar index arithmetic does not interrupt a run.
    bool scalar = op.getNumRegions() == 0 && llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
                  op.getNumResults() > 0 && !isa<LoadOp>(op);
    if (!scalar || !run.empty())
      flush();
    if (failed(lowerOp(&op)))
      return failure();
  }
  flush();
  return success();
}

/// One line an op: what it becomes, or who lowers it.
LogicalResult FunctionLowering::lowerOp(Operation *op) {
  if (std::string text = describe(op); !text.empty())
    cu::CommentOp::create(b_, cu::unnamed(op->getLoc()), text);
  Location loc = op->getLoc();
  Type index = b_.getIndexType();
  if (isMostlyNeutral(op))
    return lowerMostlyNeutral(op), success();
  auto define = [&](Value number) { return c_.scalars[op->getResult(0)] = number, success(); };
  auto by = [&](auto *lower) { return [this, lower](auto o) { return lower(c_, o), success(); }; };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ProgramIdOp o) { return define(programId(o)); })
      .Case([&](BlockIdOp) { return define(cu::BlockIdOp::create(b_, loc, index)); })
      .Case([&](ClusterRankOp) { return define(cu::ClusterRankOp::create(b_, loc, index)); })
      .Case([&](NumBlocksOp) { return define(cu::GridSizeOp::create(b_, loc, index)); })
      .Case([&](LeaderOp) { return define(cu::LeaderOp::create(b_, loc, b_.getI1Type())); })
      .Case([&](TeamOp) { return define(c_.team(cu::unnamed(loc))); })
      .Case([&](ApplyOp o) { return define(expandApply(o)); })
      .Case([&](ElementOp o) { return define(c_.element(o.getInput(), {}, loc)); })
      .Case<CountWhereOp, FindWhereOp, ExtremeOp>([&](auto o) { return lowerSearch(o); })
      .Case<HoldsOp, GivesOp, scf::YieldOp>([](auto) { return success(); }) // lowered with what they end
      .Case([&](scf::ForOp o) { return lowerFor(o); })
      .Case([&](scf::IfOp o) { return lowerIf(o); })
      .Case([&](RolesOp o) { return lowerRoles(o); })
      .Case([&](SliceOp o) { return lowerSlice(o), success(); })
      .Case<LoadOp>(by(lowerLoad))
      .Case<StoreOp>(by(lowerStore))
      .Case<ScatterOp>(by(lowerScatter))
      .Case<ReduceOp>(by(lowerReduce))
      .Case<ScanOp>(by(lowerScan))
      .Case<LookBackOp>(by(lowerLookBack))
      .Case<TicketOp>(by(lowerTicket))
      .Case<ClusterReduceOp>(by(lowerClusterReduce))
      .Case<ConvertLayoutOp>(by(lowerConvertLayout))
      .Case<RingOp>(by(lowerRing))
      .Case<RingCopyOp>(by(lowerRingCopy))
      .Case<RingStoreOp>(by(lowerRingStore))
      .Case<RingLoadOp>(by(lowerRingLoad))
      .Case([&](RingMaskOp o) { return lowerRingMask(o); })
      .Case<ChannelOp>(by(lowerChannel))
      .Case<AcquireOp>(by(lowerAcquire))
      .Case<FilledOp>(by(lowerFilled))
      .Case<AwaitOp>(by(lowerAwait))
      .Case<ReleaseOp>(by(lowerRelease))
      .Case<OrderOp>(by(lowerOrder))
      .Case<TakeTurnOp>(by(lowerTakeTurn))
      .Case<PassTurnOp>(by(lowerPassTurn))
      .Case<BoxStoreOp>(by(lowerBoxStore))
      .Case<BoxDrainOp>(by(lowerBoxDrain))
      .Case<AsyncCommitOp, AsyncWaitOp, BarrierOp>([&](auto o) { return lowerWait(o), success(); })
      .Case([&](DotOp o) { return lowerDotOp(o); })
      .Case([&](DotWaitOp o) { return lowerDotWait(o), success(); })
      .Default([&](Operation *o) { return copyScalar(o); });
}

Value FunctionLowering::programId(ProgramIdOp id) {
  // All of a tile's numbers are made where the first is asked for.
  Value number = id.getNumber() ? c_.scalars.lookup(id.getNumber()) : Value();
  auto [known, isNew] = programIds_.try_emplace({b_.getInsertionBlock(), number.getAsOpaquePointer()});
  if (isNew) {
    Location loc = cu::unnamed(id.getLoc());
    if (!number) {
      number = cu::BlockIdOp::create(b_, NameLoc::get(b_.getStringAttr("block"), loc), b_.getIndexType());
      if (int64_t blocks = func_.getCluster(); blocks > 1)
        number = arith::DivSIOp::create(b_, NameLoc::get(b_.getStringAttr("cluster"), loc), number, c_.index(blocks, loc));
    }
    known->second = programIdsOf(number, loc);
  }
  return known->second.lookup(id.getDim());
}

Value FunctionLowering::expandApply(ApplyOp apply) {
  SmallVector<Value> dims = llvm::map_to_vector(apply.getOperands_(), [&](Value v) { return c_.scalars.lookup(v); });
  AffineExpr form = apply.getMap().getResult(0);
  Value v = c_.expand(form, dims, apply.getLoc(), apply.getComputed());
  Operation *made = isa<AffineBinaryOpExpr>(form) ? v.getDefiningOp() : nullptr;
  if (auto most = cu::kMost.findOn(apply); most && made)
    cu::kMost.putOn(made, *most);
  return v;
}

LogicalResult FunctionLowering::lowerSearch(CountWhereOp op) {
  auto created = cu::CountWhereOp::create(b_, op.getLoc(), b_.getIndexType(), c_.scalars.lookup(op.getEnd()));
  c_.scalars[op] = created;
  return lowerCondition(op.getCondition(), op.getHeld(), created.getCondition());
}

LogicalResult FunctionLowering::lowerSearch(FindWhereOp op) {
  auto created = cu::FindWhereOp::create(b_, op.getLoc(), b_.getIndexType(), c_.scalars.lookup(op.getFrom()),
                                         c_.scalars.lookup(op.getEnd()), op.getFound() ? c_.scalars.lookup(op.getFound()) : Value());
  c_.scalars[op] = created;
  return lowerCondition(op.getCondition(), op.getHeld(), created.getCondition());
}

LogicalResult FunctionLowering::lowerSearch(ExtremeOp op) {
  auto created = cu::ExtremeOp::create(b_, op.getLoc(), b_.getIndexType(), c_.scalars.lookup(op.getStart()), c_.scalars.lookup(op.getEnd()),
                                       op.getKind() == te::Combiner::Min);
  c_.scalars[op] = created;
  return lowerCondition(op.getCondition(), op.getHeld(), created.getCondition());
}

/// Whether groups of copies are ever more than empty: slots that threads store to, and copies that channels count, need no wait.
static bool hasCopiesInGroups(FuncOp func) {
  return func.walk([](RingCopyOp copy) { return copy.getChannel() ? WalkResult::advance() : WalkResult::interrupt(); }).wasInterrupted();
}

void FunctionLowering::lowerWait(AsyncCommitOp op) {
  if (c_.hasAsyncCopy && hasCopiesInGroups(func_))
    cu::CpAsyncCommitOp::create(b_, op.getLoc());
}

void FunctionLowering::lowerWait(AsyncWaitOp op) {
  if (c_.hasAsyncCopy && hasCopiesInGroups(func_))
    cu::CpAsyncWaitOp::create(b_, op.getLoc(), op.getPending());
  // Products of warpgroups read slots as tensor copies do, not as the threads that wrote them.
  if (isFence(func_, op))
    cu::ProxyFenceOp::create(b_, op.getLoc());
}

void FunctionLowering::lowerWait(BarrierOp op) { cu::SyncOp::create(b_, op.getLoc(), op.getStep()); }

LogicalResult FunctionLowering::copyScalar(Operation *op) {
  auto isTile = llvm::IsaPred<RankedTensorType>;
  if (op->getNumRegions() || llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile))
    return op->emitOpError() << "cannot be lowered to threads";
  IRMapping mapping;
  for (Value v : op->getOperands())
    if (Value s = c_.scalars.lookup(v))
      mapping.map(v, s);
  Operation *clone = b_.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    c_.scalars[from] = to;
  return success();
}

void FunctionLowering::lowerDotWait(DotWaitOp wait) {
  RegTile acc = c_.tiles.lookup(wait.getAcc());
  if (func_.getUnit() == Unit::Wgmma)
    cu::WgmmaWaitOp::create(b_, wait.getLoc(), acc.array, wait.getPending());
  c_.tiles[wait.getResult()] = acc;
}

LogicalResult FunctionLowering::lowerDotOp(DotOp dot) {
  if (!dot.getNumber())
    return dot.emitOpError() << "has operands in registers; run tile-pipeline first";
  RegTile acc = c_.tiles.lookup(dot.getAcc());
  acc.layout = getLayout(dot.getResult());
  // A wait hands the accumulator on in the registers it is in.
  Value kept = dot.getResult();
  if (kept.hasOneUse())
    if (auto wait = dyn_cast<DotWaitOp>(*kept.user_begin()))
      kept = wait.getResult();
  Value array = inPlace_.lookup(kept).array;
  if (!array && dot.getAcc().hasOneUse() && dot.getAcc().getDefiningOp<DotOp>()) // (in flight yet: nothing else may touch it)
    array = acc.array;
  if (!array || array != acc.array) { // a new accumulator, starting as the old one
    array = array ? array : c_.allocate(acc.layout.numRegisters(), dot.getResult().getType().getElementType(), dot.getLoc());
    if (func_.getUnit() != Unit::Wgmma || !isZeroTile(dot.getAcc()))
      copyTile(dot.getAcc(), array, dot.getLoc());
  }
  if (auto ahead = ahead_.find(dot); ahead != ahead_.end())
    ahead->second.run(c_, array);
  else if (failed(lowerDot(c_, dot, array)))
    return failure();
  c_.tiles[dot.getResult()] = {acc.layout, array};
  return success();
}

namespace {

struct TileToCuPass : impl::TileToCuBase<TileToCuPass> {
  void runOnOperation() override {
    for (FuncOp func : llvm::to_vector(getOperation().getOps<FuncOp>())) {
      OpBuilder b(func);
      if (failed(checkLowerable(func)) || failed(FunctionLowering(b, func).run()))
        return signalPassFailure();
      func.erase();
    }
  }
};

} // namespace
} // namespace kernelc

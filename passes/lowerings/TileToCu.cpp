// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-to-cu: see Passes.td. Which op goes where; each kind has a file of its own.
#include "passes/Passes.h"

#include "ir/cu/Marks.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Marks.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/FunctionLowering.h"
#include "passes/lowerings/Tables.h"
#include "support/Target.h"

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
    // Nor does a part of what was there before: the run reads it where it is.
    if (auto slice = dyn_cast<SliceOp>(op); slice && !llvm::is_contained(run, slice.getInput().getDefiningOp())) {
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

LogicalResult FunctionLowering::lowerOp(Operation *op) {
  if (std::string text = describe(op); !text.empty())
    cu::CommentOp::create(b_, cu::unnamed(op->getLoc()), text);
  if (auto id = dyn_cast<ProgramIdOp>(op)) {
    // All of a tile's numbers are made where the first is asked for.
    Value number = id.getNumber() ? c_.scalars.lookup(id.getNumber()) : Value();
    auto [known, isNew] = programIds_.try_emplace({b_.getInsertionBlock(), number.getAsOpaquePointer()});
    if (isNew) {
      Location loc = cu::unnamed(op->getLoc());
      if (!number) {
        number = cu::BlockIdOp::create(b_, NameLoc::get(b_.getStringAttr("block"), loc), b_.getIndexType());
        if (int64_t blocks = func_.getCluster(); blocks > 1)
          number = arith::DivSIOp::create(b_, NameLoc::get(b_.getStringAttr("cluster"), loc), number, c_.index(blocks, loc));
      }
      known->second = programIdsOf(number, loc);
    }
    c_.scalars[id] = known->second.lookup(id.getDim());
  } else if (isa<BlockIdOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::BlockIdOp::create(b_, op->getLoc(), b_.getIndexType());
  } else if (isa<ClusterRankOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::ClusterRankOp::create(b_, op->getLoc(), b_.getIndexType());
  } else if (auto scale = dyn_cast<ScaleOp>(op)) {
    lowerScale(scale);
  } else if (isa<TeamOp>(op)) {
    c_.scalars[op->getResult(0)] = c_.team(cu::unnamed(op->getLoc()));
  } else if (isa<NumBlocksOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::GridSizeOp::create(b_, op->getLoc(), b_.getIndexType());
  } else if (auto apply = dyn_cast<ApplyOp>(op)) {
    SmallVector<Value> dims;
    for (Value v : apply.getOperands_())
      dims.push_back(c_.scalars.lookup(v));
    Value v = c_.scalars[apply] = c_.expand(apply.getMap().getResult(0), dims, op->getLoc(), apply.getComputed());
    Operation *made = isa<AffineBinaryOpExpr>(apply.getMap().getResult(0)) ? v.getDefiningOp() : nullptr;
    if (auto most = cu::kMost.findOn(apply); most && made)
      cu::kMost.putOn(made, *most);
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    lowerLoad(c_, load);
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    lowerStore(c_, store);
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    lowerScatter(c_, scatter);
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    lowerReduce(c_, reduce);
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    lowerScan(c_, scan);
  } else if (auto look = dyn_cast<LookBackOp>(op)) {
    lowerLookBack(c_, look);
  } else if (auto ticket = dyn_cast<TicketOp>(op)) {
    lowerTicket(c_, ticket);
  } else if (auto meet = dyn_cast<ClusterReduceOp>(op)) {
    lowerClusterReduce(c_, meet);
  } else if (auto convert = dyn_cast<ConvertLayoutOp>(op)) {
    lowerConvertLayout(c_, convert);
  } else if (auto count = dyn_cast<CountWhereOp>(op)) {
    auto created = cu::CountWhereOp::create(b_, op->getLoc(), b_.getIndexType(), c_.scalars.lookup(count.getEnd()));
    c_.scalars[count] = created;
    return lowerCondition(count.getCondition(), count.getHeld(), created.getCondition());
  } else if (auto find = dyn_cast<FindWhereOp>(op)) {
    auto created =
        cu::FindWhereOp::create(b_, op->getLoc(), b_.getIndexType(), c_.scalars.lookup(find.getFrom()), c_.scalars.lookup(find.getEnd()),
                                find.getFound() ? c_.scalars.lookup(find.getFound()) : Value());
    c_.scalars[find] = created;
    return lowerCondition(find.getCondition(), find.getHeld(), created.getCondition());
  } else if (auto extreme = dyn_cast<ExtremeOp>(op)) {
    auto created = cu::ExtremeOp::create(b_, op->getLoc(), b_.getIndexType(), c_.scalars.lookup(extreme.getStart()),
                                         c_.scalars.lookup(extreme.getEnd()), extreme.getKind() == te::Combiner::Min);
    c_.scalars[extreme] = created;
    return lowerCondition(extreme.getCondition(), extreme.getHeld(), created.getCondition());
  } else if (auto only = dyn_cast<ElementOp>(op)) {
    c_.scalars[only] = c_.element(only.getInput(), {}, op->getLoc());
  } else if (isa<LeaderOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::LeaderOp::create(b_, op->getLoc(), b_.getI1Type());
  } else if (isa<HoldsOp, GivesOp>(op)) { // lowered with its search or mask
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    return lowerFor(loop);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    return lowerIf(branch);
  } else if (auto ring = dyn_cast<RingOp>(op)) {
    lowerRing(c_, ring);
  } else if (auto copy = dyn_cast<RingCopyOp>(op)) {
    lowerRingCopy(c_, copy);
  } else if (auto channel = dyn_cast<ChannelOp>(op)) {
    lowerChannel(c_, channel);
  } else if (auto order = dyn_cast<OrderOp>(op)) {
    lowerOrder(c_, order);
  } else if (auto take = dyn_cast<TakeTurnOp>(op)) {
    lowerTakeTurn(c_, take);
  } else if (auto pass = dyn_cast<PassTurnOp>(op)) {
    lowerPassTurn(c_, pass);
  } else if (auto acquire = dyn_cast<AcquireOp>(op)) {
    lowerAcquire(c_, acquire);
  } else if (auto filled = dyn_cast<FilledOp>(op)) {
    lowerFilled(c_, filled);
  } else if (auto await = dyn_cast<AwaitOp>(op)) {
    lowerAwait(c_, await);
  } else if (auto release = dyn_cast<ReleaseOp>(op)) {
    lowerRelease(c_, release);
  } else if (auto store = dyn_cast<BoxStoreOp>(op)) {
    lowerBoxStore(c_, store);
  } else if (auto drain = dyn_cast<BoxDrainOp>(op)) {
    lowerBoxDrain(c_, drain);
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    lowerSlice(slice);
  } else if (auto roles = dyn_cast<RolesOp>(op)) {
    return lowerRoles(roles);
  } else if (auto wait = dyn_cast<DotWaitOp>(op)) {
    RegTile acc = c_.tiles.lookup(wait.getAcc());
    if (func_.getUnit() == "wgmma")
      cu::WgmmaWaitOp::create(b_, op->getLoc(), acc.array, wait.getPending());
    c_.tiles[wait.getResult()] = acc;
  } else if (auto put = dyn_cast<RingStoreOp>(op)) {
    lowerRingStore(c_, put);
  } else if (auto take = dyn_cast<RingLoadOp>(op)) {
    lowerRingLoad(c_, take);
  } else if (auto mask = dyn_cast<RingMaskOp>(op)) {
    return lowerRingMask(mask);
  } else if (isa<AsyncCommitOp>(op)) {
    if (c_.hasAsyncCopy)
      cu::CpAsyncCommitOp::create(b_, op->getLoc());
  } else if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    if (c_.hasAsyncCopy)
      cu::CpAsyncWaitOp::create(b_, op->getLoc(), wait.getPending());
    // Products of warpgroups read slots as tensor copies do, not as the threads that wrote them.
    if (func_.getUnit() == "wgmma" && llvm::any_of(*op->getBlock(), llvm::IsaPred<DotOp>))
      cu::ProxyFenceOp::create(b_, op->getLoc());
  } else if (isa<BarrierOp>(op)) {
    auto sync = cu::SyncOp::create(b_, op->getLoc());
    if (tile::kStep.isOn(op))
      cu::kStep.putOn(sync);
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    return lowerDotOp(dot);
  } else if (isa<scf::YieldOp>(op)) {
  } else if (op->getNumRegions() == 0 && llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) &&
             llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>)) {
    IRMapping mapping;
    for (Value v : op->getOperands())
      if (Value s = c_.scalars.lookup(v))
        mapping.map(v, s);
    Operation *clone = b_.clone(*op, mapping);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
      c_.scalars[from] = to;
  } else {
    return op->emitOpError() << "cannot be lowered to threads";
  }
  return success();
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
    if (func_.getUnit() != "wgmma" || !isZeroTile(dot.getAcc()))
      copyTile(dot.getAcc(), array, dot.getLoc());
  }
  if (failed(lowerDot(c_, dot, array)))
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

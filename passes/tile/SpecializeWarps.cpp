// tile-specialize-warps: see Passes.td.
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESPECIALIZEWARPS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

bool isProducerOp(Operation *op) {
  auto copy = dyn_cast<RingCopyOp>(op);
  return isa<AcquireOp>(op) || (copy && copy.getChannel());
}

bool holdsProducerOp(Operation *op) {
  return op->walk([](Operation *inner) { return isProducerOp(inner) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool isTile(Type t) { return isa<RankedTensorType>(t); }

/// Index arithmetic and allocations: what both roles may share.
bool isShared(Operation *op) {
  if (isa<RingOp, ChannelOp>(op))
    return true;
  return op->getNumRegions() == 0 && isPure(op) && llvm::none_of(op->getResultTypes(), isTile) &&
         llvm::none_of(op->getOperandTypes(), isTile);
}

/// Clones the part of `op` that fills rings: loops without their tiles.
void cloneProducer(OpBuilder &b, Operation *op, IRMapping &mapping) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    SmallVector<unsigned> kept; // carried values that are no tiles: counters
    SmallVector<Value> inits;
    for (auto [i, init] : llvm::enumerate(loop.getInitArgs()))
      if (!isTile(init.getType())) {
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
    for (Operation &inner : loop.getBody()->without_terminator())
      if (isProducerOp(&inner) || isShared(&inner) || holdsProducerOp(&inner))
        cloneProducer(b, &inner, mapping);
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

/// Registers a thread of each role may hold: setmaxnreg takes multiples of 8 from 24
/// to 240, and a multiprocessor's registers are shared by the launch's warpgroups.
std::pair<int64_t, int64_t> shareRegisters(FuncOp func, const Target &target) {
  int64_t producers = func.getProducerWarps() * 32, consumers = func.getWarps() * 32, producer = 56;
  int64_t left = target.registersPerSm / int64_t(func.getMinBlocks()) - producers * producer;
  return {producer, std::clamp<int64_t>(left / consumers / 8 * 8, 24, 240)};
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
    Block &body = func.getBlock();
    if (!holdsProducerOp(func)) {
      func.emitOpError() << "has producer warps and no ring that they could fill";
      return signalPassFailure();
    }
    OpBuilder b(&getContext());
    auto [producerRegisters, consumerRegisters] = shareRegisters(func, *target);
    b.setInsertionPointToEnd(&body);
    auto roles = RolesOp::create(b, func.getLoc(), producerRegisters, consumerRegisters);
    Block &producer = roles.getProducer().emplaceBlock(), &consumer = roles.getConsumer().emplaceBlock();
    SmallVector<Operation *> rest;
    for (Operation &op : body)
      if (!isShared(&op) && &op != roles)
        rest.push_back(&op);
    b.setInsertionPointToStart(&producer);
    IRMapping mapping;
    for (Operation *op : rest)
      if (isProducerOp(op) || holdsProducerOp(op))
        cloneProducer(b, op, mapping);
    for (Operation *op : rest)
      op->moveBefore(&consumer, consumer.end());
    SmallVector<Operation *> filled;
    consumer.walk([&](Operation *op) {
      if (isProducerOp(op))
        filled.push_back(op);
    });
    for (Operation *op : filled)
      op->erase();
  }
};

} // namespace
} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-to-tile: see Passes.td. LaunchEmitter.h says which file makes which part of a function;
// this one goes over launches and statements, and makes the pointwise ones.
#include "passes/Passes.h"

#include "passes/lowerings/LaunchEmitter.h"
#include "passes/plan/Scheduler.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TETOTILE
#include "passes/Passes.h.inc"

using namespace te;

LogicalResult LaunchEmitter::emit(unsigned number) {
  if (failed(makeFunction(number)))
    return failure();
  if (std::optional<int64_t> along = findScannedIndex(l_, ops_)) {
    if (failed(emitScans(*along)))
      return failure();
    sinkStores();
    return success();
  }
  // Before the loop, in it, and behind it, where what it reduces to is read.
  SmallVector<size_t> before, members, behind;
  llvm::DenseSet<Value> made;
  for (size_t n = 0; n < l_.ops.size(); ++n) {
    bool inLoop = llvm::any_of(l_.dims[n], [&](int64_t i) { return llvm::is_contained(l_.loops, i); });
    bool waits = ops_[l_.ops[n]]
                     ->walk([&](ReadOp read) { return made.contains(read.getTensor()) ? WalkResult::interrupt() : WalkResult::advance(); })
                     .wasInterrupted();
    (inLoop ? members : waits ? behind : before).push_back(n);
    if (inLoop || waits)
      made.insert_range(ops_[l_.ops[n]]->getResults());
  }
  auto emitAll = [&](ArrayRef<size_t> list) { return success(llvm::all_of(list, [&](size_t n) { return succeeded(emitStatement(n)); })); };
  if (failed(emitAll(before)) || (!members.empty() && failed(emitInLoop(members))) || failed(emitAll(behind)))
    return failure();
  sinkStores();
  return success();
}

LogicalResult LaunchEmitter::emitStatement(size_t member) {
  Operation *op = ops_[l_.ops[member]];
  ArrayRef<int64_t> dims = l_.dims[member];
  return isa<ComputeOp>(op)   ? emitCompute(cast<ComputeOp>(op), dims)
         : isa<CascadeOp>(op) ? emitCascade(cast<CascadeOp>(op), dims)
         : isa<FoldOp>(op)    ? emitFold(cast<FoldOp>(op), dims)
         : isa<ScatterOp>(op) ? emitScatter(cast<ScatterOp>(op), dims)
                              : emitReduce(cast<ReduceOp>(op), dims);
}

void LaunchEmitter::sinkStores() {
  llvm::DenseSet<Value> loaded; // by statements of this launch
  func_.walk([&](tile::LoadOp load) { loaded.insert(load.getBase()); });
  SmallVector<tile::StoreOp> stores;
  func_.walk([&](tile::StoreOp store) {
    if (!loaded.contains(store.getBase()) && store->getBlock()->mightHaveTerminator())
      stores.push_back(store);
  });
  for (tile::StoreOp store : stores)
    store->moveBefore(store->getBlock()->getTerminator());
}

void LaunchEmitter::store(Value tile, Value te, AffineMap outMap, ArrayRef<int64_t> dims, Value condition, BodyToTiles &body, Location loc,
                          ArrayRef<int64_t> clip) {
  SmallVector<AffineExpr> replacements;
  for (int64_t d : dims)
    replacements.push_back(b_.getAffineDimExpr(d));
  SmallVector<AffineExpr> results;
  for (AffineExpr e : outMap.getResults())
    results.push_back(e.replaceDims(replacements));
  AffineMap map = AffineMap::get(c_.rank(), outMap.getNumSymbols(), results, b_.getContext());
  SmallVector<int64_t> shape = body.shapeOf(dims);
  tile = body.broadcast(tile, shape);
  if (condition)
    condition = body.broadcast(condition, shape);
  SmallVector<int64_t> mask;
  for (int64_t d : dims)
    if (c_.needsMask(d, shape[d]))
      mask.push_back(d);
  llvm::sort(mask);
  OpBuilder::InsertionGuard guard(b_);
  // Blocks that share an index out all have what does not depend on it: the first one writes it.
  if (sharesOut() && !llvm::is_contained(dims, l_.clusterIndex)) {
    Value first = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::eq, rank_, constant(0, loc));
    b_.setInsertionPoint(scf::IfOp::create(b_, loc, first, false).thenBlock()->getTerminator());
  }
  tile::StoreOp::create(b_, loc, tile, c_.buffers.lookup(te), map, c_.offsets, mask, condition, clip);
}

LogicalResult LaunchEmitter::emitCompute(ComputeOp op, ArrayRef<int64_t> dims) {
  LogicalResult ok = success();
  SmallVector<int64_t> loops = loopsOf(dims);
  loopNest(loops, op.getCondition(), dims, {}, op.getLoc(), [&](SmallVector<Value>) {
    ok = emitPoints(op, dims, /*whole=*/loops.empty());
    return SmallVector<Value>();
  });
  return ok;
}

LogicalResult LaunchEmitter::emitPoints(ComputeOp op, ArrayRef<int64_t> dims, bool whole) {
  // What only ends where the result does is the store's business: tensor copies end there by themselves.
  SmallVector<int64_t> clip;
  SmallVector<unsigned> asked;
  for (unsigned i = 0; op.getCondition() && i < op.getCondition()->getNumConstraints(); ++i) {
    if (std::optional<unsigned> r = op.findClippedDim(i))
      clip.push_back(*r);
    else
      asked.push_back(i);
  }
  llvm::sort(clip);
  clip.erase(llvm::unique(clip), clip.end());
  BodyToTiles body(b_, c_, op, dims);
  Value value = body.evaluate(op.getYield().getValues()[0]);
  Value condition = asked.empty() ? Value() : body.evaluateSet(select(*op.getCondition(), asked), op.getLoc());
  if (op.getYield().getCondition())
    condition = body.conjunction(condition, body.evaluate(op.getYield().getCondition()), op.getLoc());
  if (!value)
    return failure();
  if (whole && !condition && clip.empty())
    c_.results[op.getResult()] = value;
  if (isStored(op.getResult()))
    store(value, op.getResult(), op.getOutMapOrIdentity(), dims, condition, body, op.getLoc(), clip);
  return success();
}

namespace {

struct TeToTilePass : impl::TeToTileBase<TeToTilePass> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>())) {
      FailureOr<KernelPlan> plan = getPlan(kernel);
      Buffers buffers;
      if (failed(plan) || failed(buffers.assign(kernel)))
        return signalPassFailure();
      // Also for a plan that te-plan did not make: a unit gets no product that it does not take.
      Scheduler scheduler(kernel, *findTarget(plan->target), *plan, Merge::WhereItPays, {plan->sizeDiv, plan->sizeMax});
      for (const LaunchPlan &launch : plan->launches)
        if (failed(scheduler.checkUnit(launch)))
          return signalPassFailure();
      OpBuilder b(kernel->getContext());
      for (auto [i, launch] : llvm::enumerate(plan->launches)) {
        b.setInsertionPointToEnd(getOperation().getBody());
        if (failed(LaunchEmitter(b, kernel, *plan, launch, buffers).emit(i)))
          return signalPassFailure();
      }
    }
  }
};

} // namespace
} // namespace kernelc

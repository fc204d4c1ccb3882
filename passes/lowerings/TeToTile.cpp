// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-to-tile: see Passes.td. LaunchEmitter.h says which file makes which part of a function;
// this one goes over launches and statements, and makes the pointwise ones.
#include "passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/analysis/Contraction.h"
#include "passes/lowerings/JoinRounds.h"
#include "passes/lowerings/LaunchEmitter.h"
#include "passes/lowerings/VerifySketch.h"
#include "passes/plan/Merging.h"
#include "passes/plan/Scheduler.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TETOTILE
#include "passes/Passes.h.inc"

using namespace te;

LogicalResult LaunchEmitter::emit(unsigned number) {
  makeFunction(number);
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
  joinRounds(func_, findTarget(plan_.target)->costs->siblings.combining);
  sinkStores();
  return success();
}

LogicalResult LaunchEmitter::emitStatement(size_t member) {
  Operation *op = ops_[l_.ops[member]];
  ArrayRef<int64_t> dims = l_.dims[member];
  madeAlong_ = findMissingIndices(l_, member, ops_);
  return isa<ComputeOp>(op)      ? emitCompute(cast<ComputeOp>(op), dims)
         : isa<CascadeOp>(op)    ? emitCascade(cast<CascadeOp>(op), dims)
         : isa<FoldOp>(op)       ? emitFold(cast<FoldOp>(op), dims)
         : isa<RecurrenceOp>(op) ? emitRecurrence(cast<RecurrenceOp>(op), dims)
         : isa<ScatterOp>(op)    ? emitScatter(cast<ScatterOp>(op), dims)
                                 : emitReduce(cast<ReduceOp>(op), dims);
}

bool LaunchEmitter::isStraight() {
  return c_.own.empty() &&
         llvm::all_of(func_.getBody().front(),
                      [](Operation &op) { return op.getNumRegions() == 0 || isa<scf::IfOp>(op) || isMemoryEffectFree(&op); }) &&
         llvm::none_of(l_.ops, [&](int64_t o) { return isa<ReduceOp>(ops_[o]) && findGeneralContraction(cast<ReduceOp>(ops_[o])); });
}

/// Whether a value comes from what the load gives, or another load of the same.
static bool dependsOnLoad(Value v, tile::LoadOp load) {
  SmallVector<Value> work{v};
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto other = dyn_cast<tile::LoadOp>(op); other && other.getBase() == load.getBase() && other.getMap() == load.getMap() &&
                                                 other.getType() == load.getType() && llvm::equal(other.getOffsets(), load.getOffsets()))
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

void LaunchEmitter::storeLast() {
  Block &body = func_.getBody().front();
  SmallVector<tile::StoreOp> stores;
  SmallVector<tile::LoadOp> loads;
  func_.walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      stores.push_back(store);
    else if (auto load = dyn_cast<tile::LoadOp>(op))
      loads.push_back(load);
  });
  Operation *first = nullptr;
  for (tile::StoreOp store : stores) {
    Operation *op = body.findAncestorOpInBlock(*store);
    op->moveBefore(&body, body.end());
    first = first ? first : op;
  }
  // An element that is read for another value than the one that is written there, or by another thread: a shuffle that brings the
  // value there orders no memory.
  bool exchanges = !body.getOps<tile::ReduceOp>().empty();
  bool meet = llvm::any_of(stores, [&](tile::StoreOp store) {
    return llvm::any_of(loads, [&](tile::LoadOp load) {
      bool isOwn = !exchanges || (load.getMap() == store.getMap() && llvm::equal(load.getOffsets(), store.getOffsets()));
      return load.getBase() == store.getBase() && !(isOwn && dependsOnLoad(store.getValue(), load));
    });
  });
  if (meet) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(first);
    tile::BarrierOp::create(b_, first->getLoc());
  }
}

void LaunchEmitter::storeBeforeExchange() {
  // Equal loads are one now; what is stored need not be held while threads exchange what they reduce.
  IRRewriter rewriter(b_.getContext());
  DominanceInfo dominance(func_);
  eliminateCommonSubExpressions(rewriter, dominance, func_);
  Block &body = func_.getBody().front();
  SmallVector<Operation *> exchanges;
  for (Operation &op : body)
    if (isa<tile::ReduceOp, tile::ClusterReduceOp>(op))
      exchanges.push_back(&op);
  for (tile::StoreOp store : llvm::to_vector(body.getOps<tile::StoreOp>())) {
    auto isBehind = [&](Operation *exchange) {
      return llvm::all_of(store->getOperands(), [&](Value v) {
        Operation *def = v.getDefiningOp();
        return !def || def->isBeforeInBlock(exchange);
      });
    };
    auto next = llvm::find_if(exchanges, isBehind);
    if (next == exchanges.end())
      continue;
    bool isReadLater = llvm::any_of(body.getOps<tile::LoadOp>(),
                                    [&](tile::LoadOp load) { return load.getBase() == store.getBase() && (*next)->isBeforeInBlock(load); });
    if (!isReadLater)
      store->moveBefore(*next);
  }
}

void LaunchEmitter::sinkStores() {
  if (isStraight()) {
    storeLast();
    return storeBeforeExchange();
  }
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
  for (AffineExpr e : BodyToTiles::inMemory(c_, te, outMap))
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
  // Blocks that share an index out, or each make what they need, all have what does not depend on it: the first one writes it.
  Value first;
  auto onlyAtZero = [&](Value place) {
    Value is = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::eq, place, constant(0, loc));
    first = first ? arith::AndIOp::create(b_, loc, first, is).getResult() : is;
  };
  if (sharesOut() && !llvm::is_contained(dims, l_.clusterIndex))
    onlyAtZero(rank_);
  for (int64_t g : madeAlong_)
    onlyAtZero(c_.offsets[g]);
  if (first)
    b_.setInsertionPoint(scf::IfOp::create(b_, loc, first, false).thenBlock()->getTerminator());
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
  bindSums(op, body);
  Value value = body.evaluate(op.getYield().getValues()[0]);
  Value condition = asked.empty() ? Value() : body.evaluateSet(select(*op.getCondition(), asked), op.getLoc());
  if (op.getYield().getCondition())
    condition = body.conjunction(condition, body.evaluate(op.getYield().getCondition()), op.getLoc());
  if (!value)
    return failure();
  bool isOwn = c_.own.contains(op.getResult());
  if (whole && !condition && clip.empty() && !isOwn)
    c_.results[op.getResult()] = value;
  if (isOwn || isStored(op.getResult()))
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
      if (failed(verifySketches(kernel, *plan, buffers.sources(), llvm::to_vector(getOperation().getOps<tile::FuncOp>()))))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace kernelc

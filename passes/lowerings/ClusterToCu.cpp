// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.cluster_reduce: what crosses the blocks of a cluster.
//
// Where all blocks go on with the result, each leaves its tile in shared memory; then each reads
// those of all, its threads sharing the elements out (one number is for each to read). Where only the first block stores it, the
// others write theirs into its shared memory and are done. Tiles are combined in the order of the
// blocks: the result is the same everywhere and in every run.
#include "passes/analysis/Reduction.h"
#include "passes/lowerings/ThreadCode.h"

using namespace mlir;

namespace kernelc {

using tile::Layout;

namespace {

/// The type in which elements of `t` can be read from another block.
Type exchangeType(Type t) {
  MLIRContext *context = t.getContext();
  if (t.isIndex())
    return IntegerType::get(context, 64);
  if (t.getIntOrFloatBitWidth() >= 32)
    return t;
  return isa<FloatType>(t) ? Type(Float32Type::get(context)) : IntegerType::get(context, 32);
}

/// `v` as a value of the wider or narrower type `to`, which holds it exactly.
Value convertExactly(Value v, Type to, OpBuilder &b, Location loc) {
  Type from = v.getType();
  if (from == to)
    return v;
  if (from.isIndex() || to.isIndex())
    return arith::IndexCastOp::create(b, loc, to, v);
  bool widens = to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  if (isa<FloatType>(from))
    return widens ? Value(arith::ExtFOp::create(b, loc, to, v)) : arith::TruncFOp::create(b, loc, to, v);
  return widens ? Value(arith::ExtUIOp::create(b, loc, to, v)) : arith::TruncIOp::create(b, loc, to, v);
}

class ClusterReduceLowering {
public:
  ClusterReduceLowering(ThreadCode &c, tile::ClusterReduceOp op)
      : c_(c), b_(c.b), op_(op), loc_(cu::unnamed(op.getLoc())), layout_(tile::getLayout(op.getInputs()[0])),
        shape_(cast<RankedTensorType>(op.getInputs()[0].getType()).getShape()), blocks_(c.func.getCluster()) {
    for (int64_t extent : shape_)
      elements_ *= extent;
    for (Value in : op.getInputs())
      types_.push_back(cast<RankedTensorType>(in.getType()).getElementType());
  }

  void toAll() {
    SmallVector<Value> parts = arrays("part", elements_);
    c_.inBranch(c_.isFirstReplica(layout_, loc_), loc_, [&] {
      overElements([&](Value, Value slot, ArrayRef<Value> own) {
        for (auto [v, part] : llvm::zip(own, parts))
          memref::StoreOp::create(b_, loc_, convertExactly(v, elementOf(part), b_, loc_), part, slot);
      });
    });
    endClusterReduce(c_);
    cu::ClusterSyncOp::create(b_, loc_);
    elements_ == 1 ? hear(parts) : hearForAll(parts);
  }

  /// One of the threads that have an element gets the result, in the first block; in the others its own part stands for it.
  void toFirst() {
    Value rank = cu::ClusterRankOp::create(b_, named("rank"), b_.getIndexType()), zero = c_.index(0, loc_);
    Value speaks = c_.isFirstReplica(layout_, loc_);
    auto partials = c_.partials.find(op_.getInputs()[0].getDefiningOp());
    cu::ClusterWaitOp::create(b_, loc_); // the first block is there: see arriveForClusterReduce
    allocateResults();
    if (partials != c_.partials.end())
      return sharedOut(partials->second, rank, speaks);
    SmallVector<Value> parts = arrays("parts", elements_ * blocks_);
    auto place = [&](Value block, Value slot) { return c_.add(c_.mul(block, elements_, loc_), slot, loc_); };
    c_.inBranch(speaks, loc_, [&] {
      overElements([&](Value r, Value slot, ArrayRef<Value> own) {
        for (auto [v, part, result] : llvm::zip(own, parts, op_.getResults())) {
          memref::StoreOp::create(b_, loc_, v, c_.tiles.lookup(result).array, r);
          cu::ClusterStoreOp::create(b_, loc_, convertExactly(v, elementOf(part), b_, loc_), part, place(rank, slot), zero);
        }
      });
    });
    inFirst(rank, [&] {
      c_.inBranch(speaks, loc_, [&] {
        overElements([&](Value r, Value slot, ArrayRef<Value>) {
          SmallVector<Value> all = combineBlocks(
              parts, [&](Value part, Value block) -> Value { return memref::LoadOp::create(b_, loc_, part, place(block, slot)); });
          for (auto [v, result] : llvm::zip(all, op_.getResults()))
            memref::StoreOp::create(b_, loc_, v, c_.tiles.lookup(result).array, r);
        });
      });
    });
  }

private:
  /// What the blocks have left in `parts` at element `e`.
  SmallVector<Value> combineTheirs(ArrayRef<Value> parts, Value e) {
    return combineBlocks(parts, [&](Value part, Value block) -> Value {
      return cu::ClusterLoadOp::create(b_, named("theirs"), elementOf(part), part, e, block);
    });
  }

  /// One number: each thread hears it, and nobody has to pass it on.
  void hear(ArrayRef<Value> parts) {
    allocateResults();
    overElements([&](Value r, Value slot, ArrayRef<Value>) {
      for (auto [v, result] : llvm::zip(combineTheirs(parts, slot), op_.getResults()))
        memref::StoreOp::create(b_, loc_, v, c_.tiles.lookup(result).array, r);
    });
    beDone();
  }

  /// The threads of a block share the elements out.
  void hearForAll(ArrayRef<Value> parts) {
    SmallVector<Value> totals;
    for (Type type : types_)
      totals.push_back(c_.sharedArray(elements_, type, loc_, "total"));
    shareOut(c_, elements_, int64_t(c_.func.getWarps()) * 32, "e", loc_, [&](Value e) {
      for (auto [v, total] : llvm::zip(combineTheirs(parts, e), totals))
        memref::StoreOp::create(b_, loc_, v, total, e);
    });
    beDone();
    allocateResults();
    overElements([&](Value r, Value slot, ArrayRef<Value>) {
      for (auto [result, total] : llvm::zip(op_.getResults(), totals))
        memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, total, slot), c_.tiles.lookup(result).array, r);
    });
  }

  /// No block ends, or writes its part again, while another one may still read it. Outside of loops nothing is written again: blocks
  /// need to have met no sooner than they meet again, or end.
  void beDone() {
    bool meetsLater = true;
    c_.func.walk([&](tile::ClusterReduceOp other) { meetsLater &= other->getParentOp() == c_.func; });
    c_.owesClusterWait = meetsLater;
    if (meetsLater)
      cu::ClusterArriveOp::create(b_, loc_);
    else
      cu::ClusterSyncOp::create(b_, loc_);
  }

  Location named(StringRef name) { return NameLoc::get(b_.getStringAttr(name), loc_); }
  static Type elementOf(Value array) { return cast<MemRefType>(array.getType()).getElementType(); }

  /// `body` in the first block, which has what the others have written to it.
  void inFirst(Value rank, llvm::function_ref<void()> body) {
    cu::ClusterArriveOp::create(b_, loc_);
    Value isFirst = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, rank, c_.index(0, loc_));
    c_.inBranch(isFirst, loc_, [&] {
      cu::ClusterWaitOp::create(b_, loc_);
      body();
    });
  }

  /// toFirst of what the warps left in shared memory: all threads put elements together, of the warps and of the blocks.
  void sharedOut(const WarpPartials &partials, Value rank, Value speaks) {
    int64_t elements = partials.elements, threads = int64_t(c_.func.getWarps()) * 32;
    SmallVector<Value> parts = arrays("parts", elements * blocks_);
    auto place = [&](Value block, Value e) { return c_.add(c_.mul(block, elements, loc_), e, loc_); };
    shareOut(c_, elements, threads, "e", loc_, [&](Value e) {
      for (auto [v, part] : llvm::zip(partials.combined(e), parts))
        cu::ClusterStoreOp::create(b_, loc_, convertExactly(v, elementOf(part), b_, loc_), part, place(rank, e), c_.index(0, loc_));
    });
    inFirst(rank, [&] {
      SmallVector<Value> totals;
      for (Type type : types_)
        totals.push_back(c_.sharedArray(elements, type, loc_, "totals"));
      shareOut(c_, elements, threads, "e", loc_, [&](Value e) {
        SmallVector<Value> all =
            combineBlocks(parts, [&](Value part, Value block) -> Value { return memref::LoadOp::create(b_, loc_, part, place(block, e)); });
        for (auto [v, total] : llvm::zip(all, totals))
          memref::StoreOp::create(b_, loc_, v, total, e);
      });
      c_.inBranch(speaks, loc_, [&] {
        OpenDigits open;
        c_.overDigits(layout_.reg, loc_, open, [&] {
          for (auto [result, total] : llvm::zip(op_.getResults(), totals))
            memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, total, partials.element(open)),
                                    c_.tiles.lookup(result).array, c_.registerIndex(layout_, open, loc_));
        });
      });
    });
  }

  /// Shared memory for each component of the state, in types that blocks can exchange.
  SmallVector<Value> arrays(StringRef name, int64_t count) {
    return llvm::map_to_vector(types_, [&](Type type) { return c_.sharedArray(count, exchangeType(type), loc_, name); });
  }

  void allocateResults() {
    for (auto [result, type] : llvm::zip(op_.getResults(), types_))
      c_.tiles[result] = {layout_, c_.allocate(layout_.numRegisters(), type, op_.getLoc())};
  }

  /// Calls `body(register, number of the element in the tile, this block's state)` for what a thread has.
  void overElements(llvm::function_ref<void(Value, Value, ArrayRef<Value>)> body) {
    OpenDigits open;
    c_.overDigits(layout_.reg, loc_, open, [&] {
      Value slot;
      int64_t stride = elements_;
      for (auto [extent, v] : llvm::zip(shape_, c_.coordinates(layout_, open, int64_t(shape_.size()), loc_))) {
        stride /= extent;
        if (v)
          slot = c_.add(slot, c_.mul(v, stride, loc_), loc_);
      }
      SmallVector<Value> own;
      for (Value in : op_.getInputs())
        own.push_back(c_.element(in, open, loc_));
      body(c_.registerIndex(layout_, open, loc_), slot ? slot : c_.index(0, loc_), own);
    });
  }

  /// What `load(component's array, block)` finds, combined in the order of the blocks.
  SmallVector<Value> combineBlocks(ArrayRef<Value> parts, llvm::function_ref<Value(Value, Value)> load) {
    auto loop = scf::ForOp::create(b_, loc_, c_.index(0, loc_), c_.index(blocks_, loc_), c_.index(1, loc_),
                                   te::identityState(op_.getKind(), types_[0], types_.size(), b_, loc_));
    loop.getInductionVar().setLoc(named("block"));
    for (Value a : loop.getRegionIterArgs())
      a.setLoc(named("total"));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> theirs;
    for (auto [part, type] : llvm::zip(parts, types_))
      theirs.push_back(convertExactly(load(part, loop.getInductionVar()), type, b_, loc_));
    scf::YieldOp::create(b_, loc_, te::combineStates(op_.getKind(), loop.getRegionIterArgs(), theirs, b_, loc_));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  ThreadCode &c_;
  OpBuilder &b_;
  tile::ClusterReduceOp op_;
  Location loc_;
  Layout layout_;
  ArrayRef<int64_t> shape_;
  int64_t blocks_, elements_ = 1; ///< of the cluster; of the tile
  SmallVector<Type> types_;       ///< of the components of a state
};

/// Whether `branch` is taken by the first block of a cluster alone.
bool isOfFirstBlock(scf::IfOp branch) {
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  return compare && compare.getPredicate() == arith::CmpIPredicate::eq && compare.getLhs().getDefiningOp<tile::ClusterRankOp>() &&
         isConstantIntValue(compare.getRhs(), 0);
}

} // namespace

bool mergesInFirst(tile::ClusterReduceOp op) {
  auto func = dyn_cast<tile::FuncOp>(op->getParentOp()); // in no loop: the blocks meet once
  if (!func || func.getProducerWarps())
    return false;
  bool alone = true;
  func.walk([&](tile::ClusterReduceOp other) { alone &= other == op; });
  return alone && isOnlyStored(op, [](tile::StoreOp store) {
           auto branch = dyn_cast<scf::IfOp>(store->getParentOp());
           return branch && isOfFirstBlock(branch);
         });
}

void arriveForClusterReduce(ThreadCode &c) {
  bool found = false;
  c.func.walk([&](tile::ClusterReduceOp op) { found |= mergesInFirst(op); });
  if (found)
    cu::ClusterArriveOp::create(c.b, cu::unnamed(c.func.getLoc()));
}

void endClusterReduce(ThreadCode &c) {
  if (c.owesClusterWait)
    cu::ClusterWaitOp::create(c.b, cu::unnamed(c.func.getLoc()));
  c.owesClusterWait = false;
}

void lowerClusterReduce(ThreadCode &c, tile::ClusterReduceOp op) {
  ClusterReduceLowering lowering(c, op);
  mergesInFirst(op) ? lowering.toFirst() : lowering.toAll();
}

} // namespace kernelc

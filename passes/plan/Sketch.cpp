// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Sketch.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "passes/plan/ChainSets.h"

using namespace mlir;

namespace kernelc::te {

int64_t Transfer::points() const { return llvm::product_of(box); }

namespace {

class Sketcher {
public:
  Sketcher(KernelOp kernel, const LaunchPlan &launch, const llvm::DenseMap<Value, int64_t> &source)
      : kernel_(kernel), ops_(getDomainOps(kernel)), l_(launch), source_(source) {
    for (int64_t ordinal : l_.ops)
      members_.insert(ops_[ordinal]);
  }

  LaunchSketch run() {
    for (auto [n, ordinal] : llvm::enumerate(l_.ops)) {
      op_ = ops_[ordinal];
      dims_ = l_.dims[n];
      isAdded_ = isAddedByBlocks(l_, n, ops_);
      varying_.clear();
      addLoads();
      addStores();
    }
    return std::move(sketch_);
  }

private:
  /// What the statement's value comes from; the rest of it is asked for by conditions.
  llvm::SmallPtrSet<Operation *, 32> findNeeded() {
    llvm::SmallPtrSet<Operation *, 32> needed;
    SmallVector<Value> work;
    op_->walk([&](YieldOp yield) { llvm::append_range(work, yield.getValues()); });
    while (!work.empty()) {
      Operation *def = work.pop_back_val().getDefiningOp();
      if (def && op_->isProperAncestor(def) && needed.insert(def).second)
        llvm::append_range(work, def->getOperands());
    }
    return needed;
  }

  void addLoads() {
    llvm::SmallPtrSet<Operation *, 32> needed = findNeeded();
    op_->walk([&](ReadOp read) {
      if (members_.contains(read.getTensor().getDefiningOp()))
        return; // from registers
      Transfer t = transferOf(read.getTensor(), read.getResult().getType(), varyingIn(read));
      t.isAsked = !needed.contains(read);
      for (auto [i, v] : llvm::enumerate(read.getOperands_()))
        if (std::optional<unsigned> d = findIndex(op_, v); d && read.getMapOrIdentity().isFunctionOfDim(i))
          t.indices.push_back(dims_[*d]);
      sketch_.loads.push_back(std::move(t));
    });
    // What a reduction goes on from, at the point of its result.
    auto reduce = isAdded_ ? ReduceOp() : dyn_cast<ReduceOp>(op_);
    if (Value init = reduce ? reduce.getInit() : Value(); init && !members_.contains(init.getDefiningOp()))
      sketch_.loads.push_back(ofResult(reduce.getResult(), init));
  }

  void addStores() {
    for (Value result : op_->getResults())
      if (isLeft(result))
        sketch_.stores.push_back(ofResult(result, result));
  }

  /// Whether others than the launch's statements need it: they are given it by memory.
  bool isLeft(Value result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      Operation *statement = user;
      while (statement->getParentOp() != kernel_)
        statement = statement->getParentOp();
      return statement == user || !members_.contains(statement); // returned, gone on from, or read elsewhere
    });
  }

  Transfer ofResult(Value result, Value tensor) {
    llvm::BitVector varying(l_.indices.size());
    if (isa<ScatterOp>(op_)) { // all points of a tile, wherever they go
      for (int64_t index : dims_)
        varying.set(index);
    }
    for (unsigned d : getResultDims(result))
      varying.set(dims_[d]);
    Transfer t = transferOf(tensor, cast<RankedTensorType>(tensor.getType()).getElementType(), varying);
    for (unsigned d : getResultDims(result))
      t.indices.push_back(dims_[d]);
    return t;
  }

  Transfer transferOf(Value tensor, Type element, const llvm::BitVector &varying) {
    Transfer t{tensor, source_.lookup(tensor), element};
    t.statement = op_;
    for (size_t i = 0; i < l_.indices.size(); ++i)
      t.box.push_back(varying[i] ? l_.tiles[i] : 1);
    return t;
  }

  /// Whether it reads another statement of the launch as that one makes its points. (A block's own memory is read by the reader's.)
  bool isAtItsPoints(ReadOp read) {
    Operation *made = read.getTensor().getDefiningOp();
    return members_.contains(made) && !isInBlock(made);
  }

  /// The launch's indices along which a value of the body differs within a tile.
  const llvm::BitVector &varyingIn(Value v) {
    if (auto known = varying_.find(v); known != varying_.end())
      return known->second;
    llvm::BitVector varying(l_.indices.size());
    if (std::optional<unsigned> d = findIndex(op_, v)) {
      varying.set(dims_[*d]);
    } else if (auto read = v.getDefiningOp<ReadOp>(); read && isAtItsPoints(read)) {
      for (auto [n, ordinal] : llvm::enumerate(l_.ops))
        if (ops_[ordinal] == read.getTensor().getDefiningOp())
          for (unsigned d : getResultDims(read.getTensor()))
            varying.set(l_.dims[n][d]);
    } else if (read) {
      AffineMap map = read.getMapOrIdentity();
      for (auto [i, operand] : llvm::enumerate(read.getOperands_())) {
        std::optional<unsigned> d = findIndex(op_, operand);
        if (!d)
          varying |= varyingIn(operand);
        else if (llvm::any_of(map.getResults(), [&, i = i](AffineExpr e) { return variesInTile(e, i, l_.tiles[dims_[*d]]); }))
          varying.set(dims_[*d]);
      }
      if (Value padding = read.getPadding()) // what lies outside may be another value for each point
        varying |= varyingIn(padding);
    } else if (Operation *def = v.getDefiningOp()) {
      for (Value operand : def->getOperands())
        varying |= varyingIn(operand);
    } else if (auto fold = dyn_cast<FoldOp>(op_); fold && isa<BlockArgument>(v) && v.getParentRegion() == &fold.getCombine()) {
      for (unsigned d = 0; d < fold.getNumParallel(); ++d) // states, and elements beside them
        varying.set(dims_[d]);
    }
    return varying_[v] = varying;
  }

  KernelOp kernel_;
  SmallVector<Operation *> ops_;
  const LaunchPlan &l_;
  const llvm::DenseMap<Value, int64_t> &source_;
  llvm::SmallPtrSet<Operation *, 8> members_;
  LaunchSketch sketch_;
  Operation *op_ = nullptr; ///< the statement that is looked at
  bool isAdded_ = false;    ///< to what is in memory, which it does not take
  ArrayRef<int64_t> dims_;
  llvm::DenseMap<Value, llvm::BitVector> varying_;
};

} // namespace

LaunchSketch sketchLaunch(KernelOp kernel, const LaunchPlan &launch, const llvm::DenseMap<Value, int64_t> &source) {
  return Sketcher(kernel, launch, source).run();
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-hoist-loads: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/Tile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEHOISTLOADS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

bool isDefinedOutside(scf::ForOp loop, Value v) { return !loop->isAncestor(v.getParentRegion()->getParentOp()); }

/// Rows, columns, single elements: what costs a thread few registers for a whole loop.
bool isThin(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && llvm::count_if(type.getShape(), [](int64_t extent) { return extent > 1; }) <= 1;
}

/// Whether a box goes into slots of a product as it is.
bool isOperand(LoadOp load) {
  return llvm::all_of(load->getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && (dot.getA() == load.getResult() || dot.getB() == load.getResult());
  });
}

/// No larger than a tile that the loop carries from round to round.
bool isBesideState(scf::ForOp loop, Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && llvm::any_of(loop.getRegionIterArgs(), [&](Value carried) {
           auto state = dyn_cast<RankedTensorType>(carried.getType());
           return state && type.getNumElements() <= state.getNumElements();
         });
}

class LoadHoister {
public:
  /// `walks`: each round needs the state that the one before has left.
  LoadHoister(scf::ForOp loop, bool walks) : loop_(loop), walks_(walks) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(loop_.getBody()->without_terminator()))
      if (auto load = dyn_cast<LoadOp>(op))
        hoist(load);
      else if (isThinArithmetic(&op)) {
        moveFree(&op);
        op.moveBefore(loop_);
      }
  }

private:
  /// What may stay in registers for the whole loop.
  bool isCheap(Value v) { return isThin(v) || (walks_ && isBesideState(loop_, v)); }

  /// What is computed from rows that do not change, once they are outside.
  bool isThinArithmetic(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op) && op->getNumResults() == 1 && isCheap(op->getResult(0)) &&
           !op->hasTrait<OpTrait::ConstantLike>() &&
           llvm::all_of(op->getOperands(), [&](Value v) { return isDefinedOutside(loop_, v) || isFree(v.getDefiningOp()); });
  }

  /// Constants and splats of what stands outside, which each user may have of its own.
  bool isFree(Operation *op) {
    return op && (op->hasTrait<OpTrait::ConstantLike>() || isa<SplatOp, BroadcastOp>(op)) && isMemoryEffectFree(op) &&
           isCheap(op->getResult(0)) &&
           llvm::all_of(op->getOperands(), [&](Value v) { return isDefinedOutside(loop_, v) || isFree(v.getDefiningOp()); });
  }
  /// Moves what of those `op` uses.
  void moveFree(Operation *op) {
    for (Value v : op->getOperands())
      if (!isDefinedOutside(loop_, v)) {
        moveFree(v.getDefiningOp());
        v.getDefiningOp()->moveBefore(loop_);
      }
  }

  void hoist(LoadOp load) {
    if (!load.getIndexTiles().empty() || load.getPadding() || !isOnlyRead(load.getBase()) ||
        !(isCheap(load.getResult()) || isOperand(load)))
      return;
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return loop_->isProperAncestor(op); };
    SmallVector<Value> used;
    for (auto [d, offset] : llvm::enumerate(load.getOffsets()))
      if (isUsed(load, d)) {
        if (!isDefinedOutside(loop_, offset) && !offset.getDefiningOp())
          return;
        if (offset.getDefiningOp())
          (void)getBackwardSlice(offset, &slice, options);
      }
    auto stays = [&](Operation *op) {
      return !isScalarCode(op) ||
             llvm::any_of(op->getOperands(), [&](Value v) { return isa<BlockArgument>(v) && !isDefinedOutside(loop_, v); });
    };
    if (llvm::any_of(slice, stays))
      return;
    for (Operation *op : slice)
      op->moveBefore(loop_);
    OpBuilder b(loop_);
    for (auto [d, offset] : llvm::enumerate(llvm::to_vector_of<Value>(load.getOffsets())))
      if (!isUsed(load, d) && !isDefinedOutside(loop_, offset))
        load.getOffsetsMutable()[d].set(arith::ConstantIndexOp::create(b, load.getLoc(), 0));
    load->moveBefore(loop_);
  }

  /// Whether it matters where index d of the launch stands: by a subscript or a mask.
  static bool isUsed(LoadOp load, unsigned d) { return load.getMap().isFunctionOfDim(d) || llvm::is_contained(load.getMask(), int64_t(d)); }

  scf::ForOp loop_;
  bool walks_;
};

struct TileHoistLoadsPass : impl::TileHoistLoadsBase<TileHoistLoadsPass> {
  void runOnOperation() override {
    bool walks = getOperation().getAhead() > 1;
    SmallVector<scf::ForOp> loops; // inner ones first
    getOperation().walk([&](scf::ForOp loop) {
      bool multiplies = loop.walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
      bool walksTiles = !loop.getOps<ProgramIdOp>().empty();
      if ((multiplies || walks) && !walksTiles)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      LoadHoister(loop, walks).run();
  }
};

} // namespace
} // namespace kernelc

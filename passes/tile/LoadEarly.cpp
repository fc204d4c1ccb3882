// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-load-early: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/Accumulator.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Access.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILELOADEARLY
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

struct TileLoadEarlyPass : impl::TileLoadEarlyBase<TileLoadEarlyPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    DotOp dot;
    func.walk([&](DotOp d) { dot = d; });
    const Target *target = findTarget(absl::string_view(func.getTarget().data(), func.getTarget().size()));
    if (!dot && target)
      func.walk([&](Block *block) { startBlock(func, block, *target); });
    if (!dot && target && func.getAlignedRows())
      func.walk([&](Block *block) { startBranches(func, block, *target); });
    if (!func.getProducerWarps() || !dot || !target)
      return;
    int64_t left = registersLeft(func, dot, *target);
    SmallVector<LoadOp> loads;
    func.walk([&](LoadOp load) { loads.push_back(load); });
    for (LoadOp load : loads) {
      Operation *product = productBefore(load);
      int64_t registers = registersOf(func, dot, load);
      if (!product || !isRowOrColumn(dot, load) || registers > left || !isOnlyRead(load.getBase()) || !moveBefore(load, product))
        continue;
      left -= registers;
    }
    func.walk([&](scf::ForOp walk) { startRounds(func, walk, *target); });
  }

  /// In a walk with several products, of which a first one is computed on, loads of rows and columns start with the round: what they
  /// bring arrives beside that product.
  static void startRounds(FuncOp func, scf::ForOp walk, const Target &target) {
    SmallVector<DotOp> dots(walk.getBody()->getOps<DotOp>());
    if (dots.size() < 2)
      return;
    DotOp first = dots.front();
    int64_t threads = int64_t(func.getWarps()) * 32, left = registersOfThose(func, target) - target.costs->threads.besideRound;
    auto take = [&](Value tile, int64_t perRegister) { // nothing of what lies in slots
      if (auto type = dyn_cast<RankedTensorType>(tile.getType()))
        left -= type.getNumElements() / perRegister / threads;
    };
    for (DotOp dot : dots) {
      take(dot.getResult(), 1);
      take(dot.getA(), 2);
    }
    for (LoadOp load : llvm::make_early_inc_range(walk.getBody()->getOps<LoadOp>())) {
      int64_t registers = registersOf(func, first, load);
      if (first->isBeforeInBlock(load) && isRowOrColumn(first, load) && registers <= left && isOnlyRead(load.getBase()) &&
          moveBefore(load, first))
        left -= registers;
    }
  }

  static constexpr int64_t kLanes = 32; ///< of a warp, which meets no other for as few points

  /// Without a product: what stands behind a block's first reduction by several warps and needs none of its results is asked for before it.
  /// Warps meet there, and nothing that they read moves across by itself.
  static void startBlock(FuncOp func, Block *block, const Target &target) {
    auto found = llvm::find_if(*block, [](Operation &op) {
      auto reduce = dyn_cast<ReduceOp>(op);
      return reduce && pointsOf(cast<RankedTensorType>(reduce->getOperand(0).getType()).getShape(), reduce.getDims()) > kLanes;
    });
    if (found == block->end())
      return;
    Operation *first = &*found;
    int64_t left = registersOfThose(func, target) - target.costs->threads.besideEarlyLoads - registersAcross(func, first);
    for (LoadOp load : llvm::make_early_inc_range(block->getOps<LoadOp>())) {
      int64_t registers = registersOfTile(func, load.getResult());
      if (first->isBeforeInBlock(load) && registers <= left && !isWrittenBefore(load) && moveBefore(load, first))
        left -= registers;
    }
  }

  /// Where rows end inside vectors, what a thread loads of each tensor is a branch, across which nothing moves by itself: a sum of two
  /// loads between the branches would wait for memory before the third asks for it. So all of a block ask before the first computation.
  static void startBranches(FuncOp func, Block *block, const Target &target) {
    auto computes = [](Operation &op) {
      return op.getNumResults() == 1 && isa<RankedTensorType>(op.getResult(0).getType()) && !isa<LoadOp>(op) && !isScalarCode(&op) &&
             llvm::any_of(op.getOperands(), [](Value v) { return v.getDefiningOp<LoadOp>(); });
    };
    auto found = llvm::find_if(*block, computes);
    if (found == block->end())
      return;
    Operation *first = &*found;
    int64_t left = registersOfThose(func, target) - target.costs->threads.besideEarlyLoads - registersAcross(func, first);
    for (Operation *op = first; op && op->getNumRegions() == 0 && !isa<ReduceOp>(op);) {
      auto load = dyn_cast<LoadOp>(op);
      op = op->getNextNode();
      if (!load || load.getMask().empty())
        continue;
      int64_t registers = registersOfTile(func, load.getResult());
      if (registers <= left && !isWrittenBefore(load) && moveBefore(load, first))
        left -= registers;
    }
  }

  /// Of a thread for a tile that lies among all of them.
  static int64_t registersOfTile(FuncOp func, Value tile) {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    if (!type)
      return 0;
    Type element = type.getElementType();
    int64_t bits = type.getNumElements() * int64_t(element.isIntOrFloat() ? std::max(16u, element.getIntOrFloatBitWidth()) : 64);
    return std::max<int64_t>(1, bits / (32 * 32 * int64_t(func.getWarps())));
  }

  /// What is made before `op`, and needed by it or behind it.
  static int64_t registersAcross(FuncOp func, Operation *op) {
    int64_t registers = 0;
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
      for (Value result : before->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
              return own == op || (own && op->isBeforeInBlock(own));
            }))
          registers += registersOfTile(func, result);
    return registers;
  }

  /// Whether anything may write what `load` reads before it, in a round ahead of its own, too: that it is there is known where threads
  /// meet.
  static bool isWrittenBefore(LoadOp load) {
    if (isOnlyRead(load.getBase()))
      return false;
    return !isa<FuncOp>(load->getParentOp()) || llvm::any_of(load.getBase().getUsers(), [&](Operation *user) {
      Operation *own = load->getBlock()->findAncestorOpInBlock(*user);
      return !isa<LoadOp, RingCopyOp>(user) && (!own || own->isBeforeInBlock(load));
    });
  }

  /// Registers that a thread of those that multiply has beside accumulators and work.
  static int64_t registersLeft(FuncOp func, DotOp dot, const Target &target) {
    int64_t sets = isZeroTile(dot.getAcc()) ? 1 + int64_t(func.getInFlight()) : 1;
    int64_t accumulators = sets * dot.getResult().getType().getNumElements() / (int64_t(func.getWarps()) * 32);
    return registersOfThose(func, target) - accumulators - target.costs->threads.besideEarlyLoads;
  }

  /// Of a thread of those that multiply.
  static int64_t registersOfThose(FuncOp func, const Target &target) {
    return shareRegisters(target, func.getProducerWarps() * 32, func.getConsumerWarps() * 32, func.getMinBlocks(),
                          int64_t(func.getProducerRegisters()))
        .consumer;
  }

  /// Whether all rows of the product's results, or all columns, read the same elements. Matrices would take as many registers as results.
  static bool isRowOrColumn(DotOp dot, LoadOp load) {
    ArrayRef<int64_t> shape = load.getResult().getType().getShape();
    return pointsOf(shape, dot.getM()) == 1 || pointsOf(shape, dot.getN()) == 1;
  }

  /// Registers of a tile that lies as the product's results do: of a warpgroup's columns a thread has a quarter, in pairs that one
  /// register holds where they are loaded together, of its rows a 32nd.
  static int64_t registersOf(FuncOp func, DotOp dot, LoadOp load) {
    RankedTensorType type = load.getResult().getType();
    ArrayRef<int64_t> tile = dot.getResult().getType().getShape();
    int64_t m = pointsOf(tile, dot.getM()), n = pointsOf(tile, dot.getN());
    AccumulatorShape shape = accumulatorShape(func.getUnit(), m, n, func.getWarps());
    auto share = [&](ArrayRef<int64_t> dims, int64_t whole, int64_t part, int64_t threads) {
      return std::max<int64_t>(1, pointsOf(type.getShape(), dims) * part / whole / threads);
    };
    int64_t rows = share(dot.getM(), m, shape.warpM, 32);
    int64_t columns = share(dot.getN(), n, shape.warpN, 4);
    int64_t last = dot.getN().empty() ? -1 : dot.getN().back();
    bool inPairs = last >= 0 && type.getDimSize(last) > 1 &&
                   provableVector(func, load.getBase(), load.getMap(), last, llvm::is_contained(load.getMask(), last), 2) == 2;
    return rows * llvm::divideCeil(columns * std::max<int64_t>(type.getElementTypeBitWidth(), inPairs ? 16 : 32), 32);
  }

  /// What `load` stands behind that holds the launch's product: its loop, or the outermost of several.
  static Operation *productBefore(LoadOp load) {
    for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode())
      if (isa<LoopLikeOpInterface>(op) && op->walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted())
        return op;
    return nullptr;
  }

  /// Moves `load` before `product`, with the index arithmetic that it needs; false where it needs more.
  static bool moveBefore(LoadOp load, Operation *product) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == load->getBlock() && product->isBeforeInBlock(op); };
    if (failed(getBackwardSlice(load.getOperation(), &slice, options)))
      return false;
    for (Operation *op : slice) {
      bool needsProduct = llvm::any_of(op->getOperands(), [&](Value v) { return v.getDefiningOp() == product; });
      if (needsProduct || (op != load && !isScalarCode(op)))
        return false;
    }
    for (Operation *op : slice)
      op->moveBefore(product);
    return true;
  }
};

} // namespace
} // namespace kernelc

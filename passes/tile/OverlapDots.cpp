// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-overlap-dots: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/Tile.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/index/Affine.h"
#include "passes/tile/Carried.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEOVERLAPDOTS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// A product that each round of a loop starts from zero and waits for.
struct RoundOfDot {
  DotOp dot;          ///< null: the loop has no such product
  int64_t behind = 0; ///< operations of the round behind the product
};

/// Whether `op` or what stands in it uses a value that `loop` carries.
bool usesCarried(scf::ForOp loop, Operation &op) {
  return usesAny(op, [&](Value v) { return llvm::is_contained(loop.getRegionIterArgs(), v); });
}

RoundOfDot findRound(scf::ForOp loop) {
  auto dots = loop.getBody()->getOps<DotOp>();
  if (!llvm::hasSingleElement(dots))
    return {};
  DotOp dot = *dots.begin();
  auto waits = llvm::make_filter_range(dot->getUsers(), [&](Operation *user) {
    auto wait = dyn_cast<DotWaitOp>(user);
    return wait && wait.getPending() == 0 && wait->getBlock() == loop.getBody();
  });
  if (!isZeroTile(dot.getAcc()) || !isa<RingType>(dot.getA().getType()) || !llvm::hasSingleElement(waits))
    return {};
  RoundOfDot found{dot};
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!dot->isBeforeInBlock(&op) && usesCarried(loop, op))
      return {};
    found.behind += dot->isBeforeInBlock(&op);
  }
  return found;
}

/// Whether a loop from 0 goes round a multiple of `rounds` times, for all that is known of the sizes.
bool hasMultipleOf(FuncOp func, scf::ForOp loop, int64_t rounds) {
  auto end = loop.getUpperBound().getDefiningOp<ApplyOp>();
  return end && end.getOperands_().empty() && getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1 &&
         te::knownDivisor(end.getMap().getResult(0), {func.getSizeDiv(), func.getSizeMax()}) % rounds == 0;
}

/// Moves all that the products of `loop`'s rounds need before the first use of the first product's result.
void startTogether(scf::ForOp loop, int64_t rounds, int64_t behind) {
  Operation *first = nullptr; // behind the first product
  int64_t product = -1, left = 0;
  for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    if (left) {
      --left;
      first = first ? first : &op;
      if (auto wait = dyn_cast<DotWaitOp>(op); wait && wait.getAcc().getDefiningOp<DotOp>())
        wait.setPending(rounds - 1 - product);
      continue;
    }
    if (isa<DotOp>(op)) {
      ++product;
      left = behind;
    }
    if (first)
      op.moveBefore(first);
  }
}

/// Behind the loop nothing is in flight: each round has waited for what it adds up.
void eraseWaits(scf::ForOp loop) {
  for (Value result : loop.getResults())
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (auto wait = dyn_cast<DotWaitOp>(user)) {
        wait.getResult().replaceAllUsesWith(result);
        wait->erase();
      }
}

struct TileOverlapDotsPass : impl::TileOverlapDotsBase<TileOverlapDotsPass> {
  void runOnOperation() override {
    int64_t rounds = getOperation().getInFlight();
    if (rounds <= 1)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      RoundOfDot round = findRound(loop);
      if (!round.dot)
        continue;
      bool isWhole = hasMultipleOf(getOperation(), loop, rounds);
      Value end = loop.getUpperBound();
      Location loc = loop.getLoc();
      loop->setLoc(loop.getInductionVar().getLoc()); // what rounds count by has its name
      FailureOr<UnrolledLoopInfo> unrolled = loopUnrollByFactor(loop, rounds);
      loop->setLoc(loc);
      if (failed(unrolled)) {
        loop.emitOpError() << "cannot take " << rounds << " rounds at a time";
        return signalPassFailure();
      }
      eraseWaits(unrolled->epilogueLoopOp ? *unrolled->epilogueLoopOp : loop);
      if (isWhole && unrolled->epilogueLoopOp) {
        loop.setUpperBound(end);
        unrolled->epilogueLoopOp->replaceAllUsesWith(loop.getResults());
        unrolled->epilogueLoopOp->erase();
      }
      if (unrolled->mainLoopOp)
        startTogether(*unrolled->mainLoopOp, rounds, round.behind);
    }
  }
};

} // namespace
} // namespace kernelc

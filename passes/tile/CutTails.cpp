// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-cut-tails: see Passes.td.
#include "passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "passes/tile/Tails.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILECUTTAILS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

struct TileCutTailsPass : impl::TileCutTailsBase<TileCutTailsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    DominanceInfo dominance(func);
    func.walk([&](RingCopyOp copy) {
      if (!copy.getChannel() || copy.getByThreads())
        return;
      std::string why;
      std::optional<Box> box = findBox(func, copy, why);
      std::optional<Tail> tail = box ? findTail(func, copy, *box) : std::nullopt;
      AcquireOp acquire = findAcquire(copy);
      if (tail && acquire && dominance.properlyDominates(copy.getOffsets()[tail->index], acquire))
        copy.setTail(tail->index);
    });
  }
};

} // namespace
} // namespace kernelc

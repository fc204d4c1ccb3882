// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-pipeline: see Passes.td. Who fills the rings: CopyPipeline.cpp and ChannelPipeline.cpp.
#include "passes/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Pipeliners.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEPIPELINE
#include "passes/Passes.h.inc"

using namespace tile;

bool isFedByDot(DotOp dot) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) { return op->getBlock() == dot->getBlock(); };
  (void)getBackwardSlice(dot.getA(), &slice, options);
  return llvm::any_of(slice, llvm::IsaPred<DotOp>);
}

void eraseUnused(scf::ForOp loop, llvm::function_ref<bool(Operation *)> isKept) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if ((isOpTriviallyDead(&op) || (isa<LoadOp>(op) && op.use_empty())) && !isKept(&op))
      op.erase();
}

namespace {

struct TilePipelinePass : impl::TilePipelineBase<TilePipelinePass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    SmallVector<DotOp> dots;
    func.walk([&](DotOp dot) {
      if (!dot.getNumber())
        dots.push_back(dot);
    });
    for (DotOp dot : dots)
      if (!isa<scf::ForOp>(dot->getParentOp())) {
        dot.emitOpError() << "stands in no loop over its reduced indices";
        return signalPassFailure();
      }
    if (func.getProducerWarps()) {
      if (failed(pipelineThroughChannels(func, dots)))
        return signalPassFailure();
      delayWaits(func);
      return;
    }
    llvm::MapVector<Operation *, SmallVector<DotOp>> chains; // by loop: dots of which each takes the accumulator of the one before it
    for (DotOp dot : dots)
      chains[dot->getParentOp()].push_back(dot);
    for (auto &[loop, chain] : chains) {
      bool together = llvm::any_of(chain, isFedByDot);
      for (size_t n = 0; n < chain.size(); n += together ? chain.size() : 1)
        if (failed(pipelineByCopies(func, cast<scf::ForOp>(loop), ArrayRef(chain).slice(n, together ? chain.size() : 1))))
          return signalPassFailure();
    }
  }
};

} // namespace
} // namespace kernelc

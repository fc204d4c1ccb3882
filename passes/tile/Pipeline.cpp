// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-pipeline: see Passes.td. Who fills the rings: CopyPipeline.cpp and ChannelPipeline.cpp.
#include "passes/Passes.h"

#include "passes/tile/Pipeliners.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEPIPELINE
#include "passes/Passes.h.inc"

using namespace tile;

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
    for (DotOp dot : dots)
      if (failed(pipelineByCopies(func, cast<scf::ForOp>(dot->getParentOp()), dot)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace kernelc

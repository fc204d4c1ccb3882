// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-fix-sizes (see Passes.td).
#include "ir/te/TeShape.h"
#include "passes/Passes.h"
#include "passes/plan/PlanAttr.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEFIXSIZES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Whether a launch feeds products on CUDA cores through slots.
bool multipliesOnCudaCores(const LaunchPlan &launch) { return launch.unit == "simt" && launch.stages > 1; }

struct TeFixSizesPass : impl::TeFixSizesBase<TeFixSizesPass> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<KernelPlan> plan = getPlan(kernel);
    if (failed(plan))
      return signalPassFailure();
    if (llvm::any_of(plan->launches, multipliesOnCudaCores))
      return;
    bool any = false;
    SmallVector<AffineExpr> sizes;
    for (auto [i, div, max] : llvm::enumerate(plan->sizeDiv, plan->sizeMax)) {
      bool isKnown = max >= div && max - div < div;
      sizes.push_back(isKnown ? getAffineConstantExpr(div, &getContext()) : getAffineSymbolExpr(i, &getContext()));
      any |= isKnown;
    }
    if (any)
      replaceSizes(kernel, sizes, kernel.getNumSizes());
  }
};

} // namespace
} // namespace kernelc

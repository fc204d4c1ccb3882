// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-fix-sizes (see Passes.td).
#include "ir/te/TeShape.h"
#include "passes/Passes.h"
#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEFIXSIZES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Whether a launch feeds products on CUDA cores through slots.
bool multipliesOnCudaCores(const LaunchPlan &launch) { return launch.unit == Unit::Simt && launch.stages > 1; }

struct TeFixSizesPass : impl::TeFixSizesBase<TeFixSizesPass> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<KernelPlan> plan = getPlan(kernel);
    if (failed(plan))
      return signalPassFailure();
    // Their order of multiply-adds is better with sizes as arguments (docs/lab/2026-11-24-f32-products.md), but for the taps of windows, by
    // which they divide in each round and which say where rows of results begin.
    bool onlyTaps = llvm::any_of(plan->launches, multipliesOnCudaCores), any = false;
    SmallVector<AffineExpr> sizes;
    for (unsigned i = 0; i < plan->sizeDiv.size(); ++i) {
      std::optional<int64_t> value = pinnedSize({plan->sizeDiv, plan->sizeMax}, i);
      bool isKnown = value && (!onlyTaps || plan->sizeMax[i] <= kMostTaps);
      sizes.push_back(isKnown ? getAffineConstantExpr(*value, &getContext()) : getAffineSymbolExpr(i, &getContext()));
      any |= isKnown;
    }
    if (any)
      replaceSizes(kernel, sizes, kernel.getNumSizes());
  }
};

} // namespace
} // namespace kernelc

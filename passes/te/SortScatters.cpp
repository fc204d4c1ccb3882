// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-sort-scatters: see Passes.td. ScatterSorter.h says how.
#include "passes/Passes.h"

#include "passes/te/LikelySizes.h"
#include "passes/te/ScatterSorter.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESORTSCATTERS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

struct TeSortScattersPass : impl::TeSortScattersBase<TeSortScattersPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end()), max(sizeMax.begin(), sizeMax.end());
    div.resize(kernel.getNumSizes(), 1);
    max.resize(kernel.getNumSizes(), -1);
    SmallVector<int64_t> likely = likelySizes(max, sizeLike);
    for (ScatterOp op : llvm::to_vector(kernel.getBlock().getOps<ScatterOp>())) {
      if (op.isUnique() || (op.getAnyOrder() && !owners)) // (te-split-reduce has made some)
        continue;
      if (ScatterSorter spans(op, {div, max}, {div, likely}); owners)
        if (std::optional<unsigned> walked = spans.findSpan())
          op = spans.takeSpans(*walked);
      ScatterSorter sorter(op, {div, max}, {div, likely});
      bool hasOrder = op.hasOrder() && !op.getAnyOrder();
      if (sorter.findOwners() || (hasOrder && sorter.hasFewRows())) {
        sorter.askPoints();
      } else if (hasOrder && !owners && sorter.paysExactly()) {
        sorter.sumExactly();
      } else if (hasOrder && !owners) {
        if (failed(sorter.checkSizes()))
          return signalPassFailure();
        sorter.sortPoints();
      }
    }
  }
};

} // namespace
} // namespace kernelc

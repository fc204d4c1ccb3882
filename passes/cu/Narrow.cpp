// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-narrow: see Passes.td.
#include "ir/cu/Marks.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/cu/IndexRanges.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUNARROW
#include "passes/Passes.h.inc"

namespace {

struct CuNarrowPass : impl::CuNarrowBase<CuNarrowPass> {
  using CuNarrowBase::CuNarrowBase;

  void runOnOperation() override {
    cu::KernelOp kernel = getOperation();
    kernel.setIndexBits(fits32 ? 32 : 64);
    if (fits32)
      return; // every index is: nothing is left to prove
    IndexRanges ranges(kernel);
    kernel.getBody().walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        // The variable goes one step beyond its last value.
        Value i = loop.getInductionVar();
        if (i.getType().isIndex() && ranges.of(i).fitsIn32Bits() && (ranges.of(i) + ranges.of(loop.getStep())).fitsIn32Bits())
          cu::kNarrow.putOn(op);
      } else if (op->getNumResults() == 1 && (op->getNumRegions() == 0 || cu::isSearch(op)) && op->getResult(0).getType().isIndex() &&
                 !isa<arith::ConstantOp>(op) && ranges.at(op->getResult(0), op).fitsIn32Bits()) {
        cu::kNarrow.putOn(op);
      }
    });
  }
};

} // namespace
} // namespace kernelc

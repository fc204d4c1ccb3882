// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-chain-products: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Chain.h"
#include "passes/plan/PlanAttr.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TECHAINPRODUCTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

struct TeChainProductsPass : impl::TeChainProductsBase<TeChainProductsPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<KnownTarget> known = getKnownTarget(kernel, target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    for (ReduceOp reader : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
      if (std::optional<ProductChain> chain = findChain(reader, *known->target, known->facts(), ChainUse::Shared)) {
        ReduceOp producer = chain->producer;
        bool isShared = llvm::any_of(producer->getUsers(), [&](Operation *user) { return user->getParentOp() != reader; });
        if (!isShared)
          continue;
        OpBuilder b(reader);
        auto own = cast<ReduceOp>(b.clone(*producer));
        producer.getResult().replaceUsesWithIf(own.getResult(), [&](OpOperand &use) { return use.getOwner()->getParentOp() == reader; });
        reader.emitRemark() << "this product takes the results of another one from registers, which are computed once more for it: that "
                               "is faster than to write them to memory and read them again";
      }
  }
};

} // namespace
} // namespace kernelc

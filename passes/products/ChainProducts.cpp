// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-chain-products: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/PlanAttr.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TECHAINPRODUCTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Gives each set of chained products its own producers. Returns the sets' readers.
llvm::DenseSet<Operation *> splitSets(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  llvm::DenseSet<Operation *> readers, taken;
  std::vector<std::pair<Operation *, std::string>> refused;
  std::vector<ChainSet> sets = findChainSets(kernel, target, facts, /*unmarked=*/true, &refused);
  for (auto &[reader, why] : refused)
    emitRemark(reader->getLoc()) << "this product and others that take the same results have a launch each: " << why;
  auto meet = [](ChainSet &x, ChainSet &y) {
    return llvm::any_of(x.producers, [&](ReduceOp p) { return llvm::is_contained(y.producers, p); });
  };
  for (ChainSet &set : sets) {
    std::vector<ChainSet *> together;
    for (ChainSet &other : sets)
      if (meet(set, other))
        together.push_back(&other);
    if (paysAsSets(together, target, facts))
      for (SetReader &r : set.readers)
        r.op.setInSet(true);
  }
  for (ChainSet &set : findChainSets(kernel, target, facts)) {
    auto first = llvm::min_element(set.readers, [](SetReader &x, SetReader &y) { return x.op->isBeforeInBlock(y.op); });
    for (SetReader &r : set.readers)
      readers.insert(r.op);
    bool again = false;
    for (ReduceOp producer : set.producers) {
      if (taken.insert(producer).second)
        continue;
      OpBuilder b(first->op);
      auto own = cast<ReduceOp>(b.clone(*producer));
      producer.getResult().replaceUsesWithIf(own.getResult(), [&](OpOperand &use) {
        return llvm::any_of(set.readers, [&](SetReader &r) { return r.op == use.getOwner()->getParentOp(); });
      });
      again = true;
    }
    if (again)
      first->op.emitRemark() << "this product takes the results of others from registers, which are computed once more for it: that is "
                                "faster than to write them to memory and read them again";
  }
  return readers;
}

struct TeChainProductsPass : impl::TeChainProductsBase<TeChainProductsPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<KnownTarget> known = getKnownTarget(kernel, target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    llvm::DenseSet<Operation *> inSets = splitSets(kernel, *known->target, known->facts());
    for (ReduceOp reader : kernel.getBlock().getOps<ReduceOp>())
      if (std::string why = whyApart(reader, *known->target, known->facts()); !why.empty() && !inSets.contains(reader))
        emitRemark(reader.getLoc()) << "this product takes the results of another one from memory: " << why;
    for (ReduceOp reader : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
      if (std::optional<ProductChain> chain = findChain(reader, *known->target, known->facts(), ChainUse::Shared);
          chain && !inSets.contains(reader)) {
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

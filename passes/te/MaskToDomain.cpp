// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-mask-to-domain: see Passes.td. This file moves conditions under which a term counts for nothing to the domain;
// which those are is MaskedTerms' business, and conditions under which nobody asks for a product's result are
// GuardedProducts'.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/GuardedProducts.h"
#include "passes/analysis/MaskedTerms.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEMASKTODOMAIN
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Decides comparisons of the body that the domain's condition decides already, and parts of its condition on data: at the
/// points that count they hold.
void decideByDomain(ReduceOp op) {
  Block &body = op.getBlock();
  OpBuilder b(&body, body.begin());
  auto decide = [&](Value holds, bool outcome, llvm::function_ref<bool(OpOperand &)> isDecided) {
    if (!llvm::any_of(holds.getUses(), isDecided))
      return;
    b.setInsertionPointAfterValue(holds);
    Value known = arith::ConstantOp::create(b, holds.getLoc(), b.getBoolAttr(outcome));
    holds.replaceUsesWithIf(known, isDecided);
  };
  if (std::optional<IntegerSet> set = op.getCondition())
    for (auto compare : llvm::to_vector(body.getOps<arith::CmpIOp>()))
      for (bool outcome : {false, true})
        if (std::optional<IndexConstraint> c = constraintOf(compare, outcome, body.getArguments(), op.getExtents().getNumSymbols());
            c && implies(*set, *c))
          decide(compare.getResult(), outcome, [](OpOperand &) { return true; });
  Value condition = op.getYield().getCondition();
  if (!condition)
    return;
  llvm::SmallPtrSet<Operation *, 8> says{op.getYield()}; // what the condition is made of
  SmallVector<Value> parts{condition};
  for (size_t n = 0; n < parts.size(); ++n)
    if (auto both = parts[n].getDefiningOp<arith::AndIOp>(); both && says.insert(both).second)
      llvm::append_range(parts, both->getOperands());
  for (Value part : parts)
    decide(part, true, [&](OpOperand &use) { return !says.contains(use.getOwner()); });
}

void moveMasks(ReduceOp op) {
  decideByDomain(op);
  constexpr unsigned kMostComparisons = 64;
  MaskFinder finder(op, op.getBlock());
  SmallVector<Mask> masks = finder.findAll(kMostComparisons, [](Mask &) { return true; });
  if (masks.empty())
    return;
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Value result = op.getResult();
  SmallPtrSet<Operation *, 4> sums;
  for (Mask &m : masks)
    if (m.carrier) {
      Operation *sum = nullptr;
      result = finder.addMasked(b, result, m, sum);
      sums.insert(sum);
    }
  if (result != op.getResult())
    op.getResult().replaceAllUsesExcept(result, sums);
  // Every mask becomes a constraint of the domain, or a condition on data, and in the body an outcome.
  for (Mask &m : masks) {
    restrict(op, m, m.compare.getLhs(), m.compare.getRhs(), b);
    b.setInsertionPoint(m.compare);
    Value outcome = arith::ConstantOp::create(b, m.compare.getLoc(), b.getBoolAttr(!m.masking));
    m.compare.getResult().replaceAllUsesWith(outcome);
  }
  for (Mask &m : masks)
    m.compare.erase();
  // The select on a constant goes with te-simplify.
}

struct TeMaskToDomainPass : impl::TeMaskToDomainBase<TeMaskToDomainPass> {
  void runOnOperation() override {
    for (ReduceOp op : llvm::to_vector(getOperation().getBlock().getOps<ReduceOp>()))
      moveMasks(op);
    restrictGuardedProducts(getOperation());
  }
};

} // namespace
} // namespace kernelc

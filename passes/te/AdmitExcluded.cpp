// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-admit-excluded: see Passes.td.
#include "passes/Passes.h"

#include "passes/analysis/Contraction.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEADMITEXCLUDED
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Takes the parts of the condition that tie a row or column to the sum out of the domain; returns a scalar of the body that says
/// where they hold. Parts that both factors have stay, and those that speak of the result alone.
Value takeTiedParts(ReduceOp op, const Contraction &c, OpBuilder &b) {
  Location loc = op.getLoc();
  Value holds;
  auto add = [&](Value part) { holds = holds ? arith::AndIOp::create(b, loc, holds, part).getResult() : part; };
  if (std::optional<IntegerSet> set = op.getCondition()) {
    SmallVector<AffineExpr> kept;
    SmallVector<bool> equalities;
    for (unsigned i = 0; i < set->getNumConstraints(); ++i) {
      IndexConstraint part{set->getConstraint(i), set->isEq(i)};
      bool ofA = c.aWhere && implies(*c.aWhere, part), ofB = c.bWhere && implies(*c.bWhere, part);
      if (ofA == ofB) {
        kept.push_back(part.form);
        equalities.push_back(part.isEquality);
        continue;
      }
      Value value = materialize(b, loc, part.form, op.getBlock().getArguments(), set->getNumSymbols());
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      add(arith::CmpIOp::create(b, loc, part.isEquality ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge, value, zero));
    }
    if (kept.empty())
      op.removeConditionAttr();
    else
      op.setCondition(IntegerSet::get(set->getNumDims(), set->getNumSymbols(), kept, equalities));
  }
  Value kept, where = op.getYield().getCondition();
  for (Value part : where ? splitConjuncts(where) : SmallVector<Value>())
    if (llvm::is_contained(c.aMask, part) && llvm::is_contained(c.bMask, part))
      kept = kept ? arith::AndIOp::create(b, loc, kept, part).getResult() : part;
    else
      add(part);
  YieldOp yield = op.getYield();
  if (kept)
    yield.getConditionMutable().assign(kept);
  else
    yield.getConditionMutable().clear();
  return holds;
}

void admitExcluded(ReduceOp op, const Contraction &c) {
  YieldOp yield = op.getYield();
  OpBuilder b(yield);
  Value holds = takeTiedParts(op, c, b);
  if (!holds)
    return;
  Location loc = op.getLoc();
  Value term = yield.getValues()[0];
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(term.getType()));
  Value excluded = arith::MulFOp::create(b, loc, term, none);
  yield.getValuesMutable()[0].assign(arith::SelectOp::create(b, loc, holds, term, excluded));
  // Nothing says any longer that these stay inside: what lies outside comes as zero.
  for (ReadOp read : op.getBlock().getOps<ReadOp>())
    if (read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume) {
      b.setInsertionPoint(read);
      read.getPaddingMutable().assign(arith::ConstantOp::create(b, loc, b.getZeroAttr(read.getType())));
      read.setBounds(BoundsMode::Pad);
    }
}

struct TeAdmitExcludedPass : impl::TeAdmitExcludedBase<TeAdmitExcludedPass> {
  void runOnOperation() override {
    for (ReduceOp op : llvm::to_vector(getOperation().getBlock().getOps<ReduceOp>()))
      if (std::optional<Contraction> c = findContraction(op);
          c && c->tied && c->unitType && isa<FloatType>(op.getYield().getValues()[0].getType()))
        admitExcluded(op, *c);
  }
};

} // namespace
} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/TileCondition.h"

#include "ir/te/TeShape.h"
#include "passes/index/IndexArithmetic.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {

template <typename Op> static SmallVector<Value> splitAt(Value condition) {
  llvm::SetVector<Value> parts;
  parts.insert(condition);
  SmallVector<Value> whole;
  for (size_t n = 0; n < parts.size(); ++n) {
    if (auto both = parts[n].getDefiningOp<Op>())
      parts.insert_range(both->getOperands());
    else
      whole.push_back(parts[n]);
  }
  return whole;
}

SmallVector<Value> splitConjuncts(Value condition) { return splitAt<arith::AndIOp>(condition); }
SmallVector<Value> splitDisjuncts(Value condition) { return splitAt<arith::OrIOp>(condition); }

/// The side of a comparison over the dims of `op`; null where it is not linear in them alone.
static AffineExpr findForm(Operation *op, Value side) {
  if (auto cast = side.getDefiningOp<arith::IndexCastOp>())
    side = cast.getIn();
  if (!side.getType().isIndex())
    return {};
  SmallVector<Value> leaves(op->getRegion(0).getArguments().take_front(getExtents(op).getNumResults()));
  size_t dims = leaves.size();
  AffineExpr e = affineOf(side, leaves);
  return leaves.size() == dims && e.isPureAffine() && !e.isSymbolicOrConstant() ? e : AffineExpr();
}

arith::CmpIPredicate turnRelation(arith::CmpIPredicate relation) {
  using P = arith::CmpIPredicate;
  switch (relation) {
  case P::sle: return P::sge;
  case P::slt: return P::sgt;
  case P::sge: return P::sle;
  case P::sgt: return P::slt;
  default: return relation;
  }
}

std::optional<LinearBound> findLinearBound(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || !isDomainOp(compare->getParentOp()) ||
      !(compare.getLhs().getType().isIndex() || compare.getLhs().getType().isInteger(64)))
    return std::nullopt;
  Operation *op = compare->getParentOp();
  AffineExpr left = findForm(op, compare.getLhs()), right = findForm(op, compare.getRhs());
  if (bool(left) == bool(right))
    return std::nullopt;
  arith::CmpIPredicate relation = compare.getPredicate();
  using P = arith::CmpIPredicate;
  if (right) // the form stands on the left
    relation = turnRelation(relation);
  if (relation != P::sle && relation != P::slt && relation != P::sge && relation != P::sgt && relation != P::eq)
    return std::nullopt;
  return LinearBound{left ? left : right, left ? compare.getRhs() : compare.getLhs(), relation};
}

std::optional<std::pair<unsigned, Value>> findNamedDim(Value condition) {
  std::optional<LinearBound> bound = findLinearBound(condition);
  auto d = bound && bound->relation == arith::CmpIPredicate::eq ? dyn_cast<AffineDimExpr>(bound->form) : AffineDimExpr(nullptr);
  return d ? std::optional(std::pair(d.getPosition(), bound->bound)) : std::nullopt;
}

} // namespace kernelc::te

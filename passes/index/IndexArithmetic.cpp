// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/IndexArithmetic.h"

using namespace mlir;

namespace kernelc::te {

AffineExpr affineOf(Value v, SmallVectorImpl<Value> &leaves) {
  MLIRContext *c = v.getContext();
  Operation *op = v.getDefiningOp();
  auto leaf = [&]() -> AffineExpr {
    auto it = llvm::find(leaves, v);
    unsigned n = it - leaves.begin();
    if (it == leaves.end())
      leaves.push_back(v);
    return getAffineDimExpr(n, c);
  };
  if (!op)
    return leaf();
  if (auto size = dyn_cast<SizeOp>(op))
    return size.getMap().getResult(0);
  APInt value;
  if (matchPattern(v, m_ConstantInt(&value)))
    return getAffineConstantExpr(value.getSExtValue(), c);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp>(op))
    return leaf();
  size_t before = leaves.size();
  AffineExpr x = affineOf(op->getOperand(0), leaves), y = affineOf(op->getOperand(1), leaves);
  if (isa<arith::AddIOp>(op))
    return x + y;
  if (isa<arith::SubIOp>(op)) {
    // x - (x floordiv c) * c is x mod c.
    if (auto mul = dyn_cast<AffineBinaryOpExpr>(y); mul && y.getKind() == AffineExprKind::Mul)
      if (auto div = dyn_cast<AffineBinaryOpExpr>(mul.getLHS());
          div && div.getKind() == AffineExprKind::FloorDiv && div.getLHS() == x && div.getRHS() == mul.getRHS())
        return x % mul.getRHS();
    return x - y;
  }
  bool isMul = isa<arith::MulIOp>(op);
  if (isMul && x.isSymbolicOrConstant())
    std::swap(x, y);
  if (y.isSymbolicOrConstant())
    return isMul ? x * y : x.floorDiv(y);
  leaves.truncate(before);
  return leaf();
}

bool implies(IntegerSet set, const IndexConstraint &c) {
  for (unsigned i = 0; i < set.getNumConstraints(); ++i)
    if (set.getConstraint(i) == c.form && (set.isEq(i) || !c.isEquality))
      return true;
  return false;
}

std::optional<IndexConstraint> constraintOf(arith::CmpIOp compare, bool outcome, ValueRange dims, unsigned symbols) {
  if (!compare.getLhs().getType().isIndex())
    return std::nullopt;
  SmallVector<Value> leaves(dims);
  AffineExpr x = affineOf(compare.getLhs(), leaves), y = affineOf(compare.getRhs(), leaves), form;
  if (leaves.size() != dims.size())
    return std::nullopt;
  auto relation = outcome ? compare.getPredicate() : arith::invertPredicate(compare.getPredicate());
  switch (relation) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::sge: form = x - y; break;
  case arith::CmpIPredicate::sgt: form = x - y - 1; break;
  case arith::CmpIPredicate::sle: form = y - x; break;
  case arith::CmpIPredicate::slt: form = y - x - 1; break;
  default: return std::nullopt;
  }
  form = simplifyAffineExpr(form, dims.size(), symbols);
  if (!form.isPureAffine())
    return std::nullopt;
  return IndexConstraint{form, relation == arith::CmpIPredicate::eq};
}

Value materialize(OpBuilder &b, Location loc, AffineExpr e, ValueRange operands, unsigned symbols) {
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return operands[d.getPosition()];
  if (e.isSymbolicOrConstant())
    return SizeOp::create(b, loc, b.getIndexType(), AffineMap::get(0, symbols, e));
  auto bin = cast<AffineBinaryOpExpr>(e);
  Value x = materialize(b, loc, bin.getLHS(), operands, symbols);
  Value y = materialize(b, loc, bin.getRHS(), operands, symbols);
  if (!x || !y)
    return {};
  switch (e.getKind()) {
  case AffineExprKind::Add: return arith::AddIOp::create(b, loc, x, y);
  case AffineExprKind::Mul: return arith::MulIOp::create(b, loc, x, y);
  case AffineExprKind::FloorDiv: return arith::FloorDivSIOp::create(b, loc, x, y);
  case AffineExprKind::Mod: {
    Value q = arith::FloorDivSIOp::create(b, loc, x, y);
    return arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, loc, q, y));
  }
  default: return {};
  }
}

} // namespace kernelc::te

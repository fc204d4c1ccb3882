// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/TileForms.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

AffineExpr TileForms::placeOf(unsigned dim) { return getAffineDimExpr(1 + dim, func_.getContext()); }

AffineExpr TileForms::formOf(Value v) {
  if (v == variable_)
    return getAffineDimExpr(0, func_.getContext());
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return getAffineConstantExpr(constant.getSExtValue(), func_.getContext());
  if (auto apply = v.getDefiningOp<ApplyOp>()) {
    SmallVector<AffineExpr> operands = llvm::map_to_vector(apply.getOperands_(), [&](Value o) { return formOf(o); });
    return apply.getMap().getResult(0).replaceDims(operands);
  }
  if (auto sum = v.getDefiningOp<arith::AddIOp>())
    return formOf(sum.getLhs()) + formOf(sum.getRhs());
  if (auto difference = v.getDefiningOp<arith::SubIOp>())
    return formOf(difference.getLhs()) - formOf(difference.getRhs());
  if (auto product = v.getDefiningOp<arith::MulIOp>()) {
    AffineExpr x = formOf(product.getLhs()), y = formOf(product.getRhs());
    if (x.isSymbolicOrConstant() || y.isSymbolicOrConstant())
      return x * y;
  }
  auto known = others_.try_emplace(v, 1 + func_.getRank() + others_.size());
  return getAffineDimExpr(known.first->second, func_.getContext());
}

AffineExpr TileForms::elementOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto splat = dyn_cast_or_null<SplatOp>(op))
    return formOf(splat.getInput());
  if (auto spread = dyn_cast_or_null<BroadcastOp>(op))
    return elementOf(spread.getInput());
  if (auto index = dyn_cast_or_null<IndexOp>(op)) {
    AffineExpr at = formOf(index.getOffset());
    return func_.getTiles()[index.getDim()] > 1 ? at + placeOf(index.getDim()) : at;
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    return splat ? getAffineConstantExpr(splat.getSplatValue<APInt>().getSExtValue(), func_.getContext()) : AffineExpr();
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  AffineExpr x = elementOf(op->getOperand(0)), y = elementOf(op->getOperand(1));
  if (!x || !y || (isa<arith::MulIOp>(op) && !x.isSymbolicOrConstant() && !y.isSymbolicOrConstant()))
    return {};
  return isa<arith::AddIOp>(op) ? x + y : isa<arith::SubIOp>(op) ? x - y : x * y;
}

AffineExpr TileForms::simplify(AffineExpr form) {
  return simplifyAffineExpr(form, 1 + func_.getRank() + others_.size(), func_.getSizes().size());
}

AffineExpr TileForms::excessOf(arith::CmpIOp condition) {
  auto type = dyn_cast<RankedTensorType>(condition.getLhs().getType());
  if (!type || !type.getElementType().isIndex())
    return {};
  AffineExpr x = elementOf(condition.getLhs()), y = elementOf(condition.getRhs());
  if (!x || !y)
    return {};
  switch (condition.getPredicate()) {
  case arith::CmpIPredicate::sge: return x - y;
  case arith::CmpIPredicate::sgt: return x - y - 1;
  case arith::CmpIPredicate::sle: return y - x;
  case arith::CmpIPredicate::slt: return y - x - 1;
  default: return {};
  }
}

} // namespace kernelc

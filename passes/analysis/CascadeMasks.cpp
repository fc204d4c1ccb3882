// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/CascadeMasks.h"

#include <cmath>

#include "mlir/IR/Matchers.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {

/// What a product of constants and inverse roots of them comes to.
static std::optional<double> numberOf(Value v) {
  APFloat constant(0.0);
  if (matchPattern(v, m_ConstantFloat(&constant))) {
    bool isInexact;
    constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isInexact);
    return constant.convertToDouble();
  }
  Operation *op = v.getDefiningOp();
  if (!isa_and_nonnull<math::RsqrtOp, arith::MulFOp>(op))
    return std::nullopt;
  std::optional<double> x = numberOf(op->getOperand(0)), y = op->getNumOperands() > 1 ? numberOf(op->getOperand(1)) : std::optional(1.0);
  if (!x || !y)
    return std::nullopt;
  return isa<math::RsqrtOp>(op) ? 1 / std::sqrt(*x) : *x * *y;
}

bool fallsWith(CascadeOp op, Value exponent, Value v, bool hasPoints) {
  Value reference, scale;
  if (auto fma = exponent.getDefiningOp<math::FmaOp>()) {
    auto below = fma.getC().getDefiningOp<arith::NegFOp>();
    auto product = below ? below.getOperand().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (fma.getA() != v || !product || product.getRhs() != fma.getB())
      return false;
    reference = product.getLhs(), scale = fma.getB();
  } else {
    auto product = exponent.getDefiningOp<arith::MulFOp>();
    auto distance = product ? product.getLhs().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
    if (!distance || distance.getLhs() != v)
      return false;
    reference = distance.getRhs(), scale = product.getRhs();
  }
  std::optional<double> c = numberOf(scale);
  if (!c || *c < std::numeric_limits<float>::min() || *c > std::numeric_limits<float>::max())
    return false;
  // (the first component itself is no finite number where nothing has been said, and neither is its difference from -inf)
  Value first = op.getBlock().getArgument(op.getNumDims());
  auto standsFor = reference.getDefiningOp<arith::SelectOp>();
  auto isNone = standsFor ? standsFor.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  if (!isNone)
    return hasPoints && reference == first;
  return isNone.getPredicate() == arith::CmpFPredicate::OEQ && isNone.getLhs() == first && matchPattern(isNone.getRhs(), m_NegInfFloat()) &&
         matchPattern(standsFor.getTrueValue(), m_AnyZeroFloat()) && standsFor.getFalseValue() == first;
}

/// Whether `term` is zero, or a product with zero, where `v` is -inf.
static bool isZeroWith(CascadeOp op, Value term, Value v) {
  Operation *def = term.getDefiningOp();
  if (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(def))
    return isZeroWith(op, def->getOperand(0), v);
  if (auto power = dyn_cast_or_null<math::Exp2Op>(def))
    return fallsWith(op, power.getOperand(), v);
  return isa_and_nonnull<arith::MulFOp>(def) && llvm::any_of(def->getOperands(), [&](Value factor) { return isZeroWith(op, factor, v); });
}

SmallVector<Value> findPointMasks(CascadeOp op) {
  Value first = op.getElementValue(0);
  if (op.getComponentKind(0) != Combiner::Max)
    return {};
  for (unsigned k = 1; k < op.getNumComponents(); ++k)
    if (op.getComponentKind(k) != Combiner::Sum || !isZeroWith(op, op.getElementValue(k), first))
      return {};
  SmallVector<Value> masks;
  for (Value v = first; auto select = v.getDefiningOp<arith::SelectOp>(); v = select.getTrueValue())
    if (matchPattern(select.getFalseValue(), m_NegInfFloat()))
      llvm::append_range(masks, splitConjuncts(select.getCondition()));
  return masks;
}

} // namespace kernelc::te

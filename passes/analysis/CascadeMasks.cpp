// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/CascadeMasks.h"

#include <cmath>

#include "mlir/IR/Matchers.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {

/// What a product of constants, of sizes that `facts` pin, and of inverse roots of these comes to.
static std::optional<double> numberOf(Value v, const SizeFacts *facts = nullptr) {
  APFloat constant(0.0);
  if (matchPattern(v, m_ConstantFloat(&constant))) {
    bool isInexact;
    constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isInexact);
    return constant.convertToDouble();
  }
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<arith::SIToFPOp, arith::IndexCastOp>(op))
    return numberOf(op->getOperand(0), facts);
  if (auto size = dyn_cast_or_null<SizeOp>(op)) {
    auto symbol = dyn_cast<AffineSymbolExpr>(size.getMap().getResult(0));
    std::optional<int64_t> pinned = symbol && facts ? pinnedSize(*facts, symbol.getPosition()) : std::nullopt;
    return pinned ? std::optional(double(*pinned)) : std::nullopt;
  }
  if (!isa_and_nonnull<math::RsqrtOp, arith::MulFOp>(op))
    return std::nullopt;
  std::optional<double> x = numberOf(op->getOperand(0), facts),
                        y = op->getNumOperands() > 1 ? numberOf(op->getOperand(1), facts) : std::optional(1.0);
  if (!x || !y)
    return std::nullopt;
  return isa<math::RsqrtOp>(op) ? 1 / std::sqrt(*x) : *x * *y;
}

bool fallsWith(CascadeOp op, Value exponent, Value v, bool hasPoints, const SizeFacts *facts) {
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
  std::optional<double> c = numberOf(scale, facts);
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

static bool isAboveZero(Value v, const SizeFacts *facts) {
  std::optional<double> number = numberOf(v, facts);
  return number && *number > 0 && std::isfinite(*number);
}

/// Whether somebody asks what `v`, a cascade's first component or a multiple of it, comes to.
static bool isAskedFor(Value v, const SizeFacts *facts) {
  return llvm::any_of(v.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto compare = dyn_cast<arith::CmpFOp>(user))
      return !matchPattern(compare.getRhs(), m_NegInfFloat());
    if (auto below = dyn_cast<arith::SubFOp>(user)) // (what excluded points are exponentials of)
      return !matchPattern(below.getLhs(), m_NegInfFloat());
    if (isa<arith::MulFOp>(user) && isAboveZero(user->getOperand(1 - use.getOperandNumber()), facts))
      return isAskedFor(user->getResult(0), facts);
    if (isa<ReadOp>(user))
      return isAskedFor(user->getResult(0), facts);
    auto cascade = dyn_cast<CascadeOp>(user->getParentOp());
    bool isItsOwn = isa<YieldOp>(user) && cascade && user->getParentRegion() == &cascade.getFinalize() && use.getOperandNumber() == 0;
    return !isItsOwn || isAskedFor(cascade.getResult(0), facts);
  });
}

std::optional<FollowedExponents> findFollowedExponents(CascadeOp op, bool hasPoints, const SizeFacts *facts) {
  Value element = op.getElementValue(0);
  auto select = element.getDefiningOp<arith::SelectOp>();
  bool isChosenByRow = select && findSupport(select.getCondition(), op.getNumDims()).find_next(int(op.getNumParallel()) - 1) < 0;
  if (op.getComponentKind(0) != Combiner::Max || !op.getComponentType(0).isF32() || isChosenByRow ||
      isAskedFor(op.getFinalize().front().getArgument(op.getNumParallel()), facts))
    return std::nullopt;
  FollowedExponents found;
  for (auto power : op.getBlock().getOps<math::Exp2Op>()) {
    Operation *exponent = power.getOperand().getDefiningOp();
    if (!exponent || !fallsWith(op, power.getOperand(), element, hasPoints, facts))
      continue;
    Value scale = exponent->getOperand(1);
    if (found.scale && (scale != found.scale || exponent->getName() != found.exponents.front().getDefiningOp()->getName()))
      return std::nullopt;
    found.scale = scale;
    found.exponents.push_back(power.getOperand());
  }
  return found.scale ? std::optional(found) : std::nullopt;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/ExactValues.h"

#include <algorithm>
#include <optional>

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/analysis/UnitOperands.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whole numbers from low to high.
struct Whole {
  int64_t low, high;
  int64_t largest() const { return std::max(-low, high); }
};

/// f32 holds whole numbers up to here, and what is computed of them stays whole.
constexpr int64_t kMostOfF32 = int64_t(1) << 24;

std::optional<Whole> bounded(Whole w, int64_t most) { return w.largest() <= most ? std::optional(w) : std::nullopt; }

Whole sumOf(Whole a, Whole b) { return {a.low + b.low, a.high + b.high}; }
Whole negated(Whole a) { return {-a.high, -a.low}; }
Whole productOf(Whole a, Whole b) {
  auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}
Whole joined(Whole a, Whole b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Whole lesserOf(Whole a, Whole b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
Whole greaterOf(Whole a, Whole b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

/// `combine` of what is known of both operands of `op`.
template <typename Find, typename Combine> std::optional<Whole> ofBoth(Operation *op, Find find, Combine combine) {
  std::optional<Whole> a = find(op->getOperand(op->getNumOperands() - 2)), b = find(op->getOperand(op->getNumOperands() - 1));
  return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
}

/// The whole numbers that an integer may be; as unsigned, those of its bits.
std::optional<Whole> findInteger(Value v, bool isUnsigned = false) {
  Operation *op = v.getDefiningOp();
  auto type = dyn_cast<IntegerType>(v.getType());
  if (!op || !type)
    return std::nullopt;
  auto signedOf = [&](Value operand) { return findInteger(operand); };
  // (Numbers that f32 holds wrap in no type that they were widened to.)
  int64_t most = std::min(kMostOfF32, type.getWidth() > 24 ? kMostOfF32 : int64_t(1) << (type.getWidth() - 1)) - 1;
  auto found = llvm::TypeSwitch<Operation *, std::optional<Whole>>(op)
                   .Case([&](arith::ConstantOp constant) -> std::optional<Whole> {
                     auto value = dyn_cast<IntegerAttr>(constant.getValue());
                     if (!value)
                       return std::nullopt;
                     int64_t n = isUnsigned || type.isInteger(1) ? int64_t(value.getValue().getZExtValue()) : value.getInt();
                     return Whole{n, n};
                   })
                   .Case([&](arith::ExtUIOp wider) { return findInteger(wider.getIn(), /*isUnsigned=*/true); })
                   .Case([&](arith::ExtSIOp wider) { return findInteger(wider.getIn()); })
                   .Case([&](arith::AndIOp both) -> std::optional<Whole> {
                     std::optional<Whole> found;
                     for (Value side : {both.getLhs(), both.getRhs()})
                       if (std::optional<Whole> mask = findInteger(side); mask && mask->low >= 0)
                         found = Whole{0, found ? std::min(found->high, mask->high) : mask->high};
                     return found;
                   })
                   .Case<arith::ShRUIOp, arith::ShRSIOp>([&](auto shift) -> std::optional<Whole> {
                     std::optional<Whole> x = findInteger(shift.getLhs());
                     return x && x->low >= 0 ? std::optional(Whole{0, x->high}) : std::nullopt;
                   })
                   .Case([&](arith::AddIOp sum) { return ofBoth(sum, signedOf, sumOf); })
                   .Case([&](arith::SubIOp difference) {
                     return ofBoth(difference, signedOf, [](Whole a, Whole b) { return sumOf(a, negated(b)); });
                   })
                   .Case([&](arith::MulIOp product) { return ofBoth(product, signedOf, productOf); })
                   .Case([&](arith::MinSIOp least) { return ofBoth(least, signedOf, lesserOf); })
                   .Case([&](arith::MaxSIOp greatest) { return ofBoth(greatest, signedOf, greaterOf); })
                   .Case([&](arith::SelectOp choice) { return ofBoth(choice, signedOf, joined); })
                   .Default(std::optional<Whole>());
  if (found && bounded(*found, most) && !(isUnsigned && found->low < 0)) // (what is below zero lies far above it without a sign)
    return found;
  if (type.getWidth() > 8) // elements of narrow tensors
    return std::nullopt;
  int64_t values = int64_t(1) << type.getWidth();
  return isUnsigned || type.isInteger(1) ? Whole{0, values - 1} : Whole{-values / 2, values / 2 - 1};
}

/// The whole numbers that a float may be.
std::optional<Whole> findWhole(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto found = llvm::TypeSwitch<Operation *, std::optional<Whole>>(op)
                   .Case([&](arith::ConstantOp constant) -> std::optional<Whole> {
                     auto value = dyn_cast<FloatAttr>(constant.getValue());
                     llvm::APSInt whole(64, /*isUnsigned=*/false);
                     bool isExact = false;
                     if (!value || value.getValue().convertToInteger(whole, llvm::APFloat::rmTowardZero, &isExact) != llvm::APFloat::opOK)
                       return std::nullopt;
                     return isExact ? std::optional(Whole{whole.getExtValue(), whole.getExtValue()}) : std::nullopt;
                   })
                   .Case([&](arith::SIToFPOp whole) { return findInteger(whole.getIn()); })
                   .Case([&](arith::UIToFPOp whole) { return findInteger(whole.getIn(), /*isUnsigned=*/true); })
                   .Case([&](arith::ExtFOp wider) { return findWhole(wider.getIn()); })
                   .Case([&](arith::TruncFOp narrower) -> std::optional<Whole> {
                     unsigned precision = llvm::APFloat::semanticsPrecision(cast<FloatType>(narrower.getType()).getFloatSemantics());
                     std::optional<Whole> whole = findWhole(narrower.getIn());
                     bool isHeld = narrower.getType().isBF16() || narrower.getType().isF16();
                     return whole && isHeld ? bounded(*whole, int64_t(1) << precision) : std::nullopt;
                   })
                   .Case([&](arith::AddFOp sum) { return ofBoth(sum, findWhole, sumOf); })
                   .Case([&](arith::SubFOp difference) {
                     return ofBoth(difference, findWhole, [](Whole a, Whole b) { return sumOf(a, negated(b)); });
                   })
                   .Case([&](arith::MulFOp product) { return ofBoth(product, findWhole, productOf); })
                   .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto least) { return ofBoth(least, findWhole, lesserOf); })
                   .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto greatest) { return ofBoth(greatest, findWhole, greaterOf); })
                   .Case([&](arith::SelectOp choice) { return ofBoth(choice, findWhole, joined); })
                   .Case([&](arith::NegFOp negative) -> std::optional<Whole> {
                     std::optional<Whole> whole = findWhole(negative.getOperand());
                     return whole ? std::optional(negated(*whole)) : std::nullopt;
                   })
                   .Default(std::optional<Whole>());
  return found ? bounded(*found, kMostOfF32) : std::nullopt;
}

bool isExactConstant(arith::ConstantOp constant, FloatType type) {
  auto value = dyn_cast<FloatAttr>(constant.getValue());
  if (!value)
    return false;
  llvm::APFloat narrow = value.getValue();
  bool losesInfo = false;
  narrow.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return !losesInfo;
}

} // namespace

bool isExactIn(Value value, FloatType type) {
  if (embeds(narrowestType(value), type))
    return true;
  int64_t most = int64_t(1) << llvm::APFloat::semanticsPrecision(type.getFloatSemantics());
  if (std::optional<Whole> whole = findWhole(value); whole && whole->largest() <= most)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::ConstantOp constant) { return isExactConstant(constant, type); })
      .Case([&](arith::SelectOp choice) { return isExactIn(choice.getTrueValue(), type) && isExactIn(choice.getFalseValue(), type); })
      .Case<arith::NegFOp, math::AbsFOp>([&](auto sign) { return isExactIn(sign.getOperand(), type); })
      .Case<arith::MinimumFOp, arith::MaximumFOp, arith::MinNumFOp, arith::MaxNumFOp>(
          [&](auto one) { return isExactIn(one.getLhs(), type) && isExactIn(one.getRhs(), type); })
      .Default(false);
}

bool isExactInByte(Value value, bool isUnsigned) {
  std::optional<Whole> whole = findInteger(value);
  return whole && (isUnsigned ? whole->low >= 0 && whole->high <= 255 : whole->low >= -128 && whole->high <= 127);
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/ValueClasses.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::te {
namespace {

constexpr ValueClasses kFinite = kZero | kOne | kOther;
constexpr ValueClasses kInfinite = kPosInf | kNegInf;

/// f over the classes of two operands, one by one.
template <typename F> ValueClasses pairwise(ValueClasses a, ValueClasses b, F f) {
  ValueClasses out = 0;
  for (ValueClasses x = 1; x <= kOther; x <<= 1)
    for (ValueClasses y = 1; y <= kOther; y <<= 1)
      if ((a & x) && (b & y))
        out |= f(x, y);
  return out;
}

ValueClasses addClass(ValueClasses x, ValueClasses y) {
  if (x == kNan || y == kNan)
    return kNan;
  if (x & kInfinite)
    return (y & kInfinite) && x != y ? ValueClasses(kNan) : x;
  if (y & kInfinite)
    return y;
  if (x == kZero || y == kZero)
    return x == kZero ? y : x;
  return kFinite | kInfinite;
}

ValueClasses negClass(ValueClasses a) {
  ValueClasses out = a & (kZero | kNan | kOther);
  if (a & kPosInf)
    out |= kNegInf;
  if (a & kNegInf)
    out |= kPosInf;
  if (a & kOne)
    out |= kOther;
  if (a & kOther)
    out |= kOne;
  return out;
}

class Classifier {
public:
  Classifier(Value condition, bool value, bool realProducts) : realProducts_(realProducts) { known_[condition] = value ? kOne : kZero; }

  llvm::DenseMap<Value, ValueClasses> run(Block &body) {
    for (Operation &op : body) {
      // Constants may stand outside the body.
      for (Value v : op.getOperands())
        if (auto constant = v.getDefiningOp<arith::ConstantOp>(); constant && constant->getBlock() != &body)
          known_[v] = ofConstant(constant.getValue());
      for (Value result : op.getResults())
        if (!known_.contains(result))
          known_[result] = classify(&op);
    }
    return std::move(known_);
  }

private:
  ValueClasses of(Value v) {
    auto it = known_.find(v);
    return it == known_.end() ? kAny : it->second;
  }

  ValueClasses ofConstant(Attribute a) {
    if (auto f = dyn_cast<FloatAttr>(a)) {
      APFloat v = f.getValue();
      if (v.isNaN())
        return kNan;
      if (v.isInfinity())
        return v.isNegative() ? kNegInf : kPosInf;
      return v.isZero() ? kZero : v.isExactlyValue(1.0) ? kOne : kOther;
    }
    auto i = dyn_cast<IntegerAttr>(a);
    if (!i)
      return kAny;
    const APInt &v = i.getValue();
    if (v.isZero())
      return kZero;
    if (v.isOne())
      return kOne;
    return v.isMinSignedValue() ? kNegInf : v.isMaxSignedValue() ? kPosInf : kOther;
  }

  ValueClasses mulClass(ValueClasses x, ValueClasses y) {
    if (realProducts_ && (x == kZero || y == kZero))
      return kZero;
    if (x == kNan || y == kNan)
      return kNan;
    if (x == kZero || y == kZero)
      return ((x | y) & kInfinite) ? kNan : kZero;
    if (x == kOne || y == kOne)
      return x == kOne ? y : x;
    if ((x | y) & kInfinite)
      return kInfinite;
    return kFinite | kInfinite;
  }

  static ValueClasses divClass(ValueClasses x, ValueClasses y) {
    if (x == kNan || y == kNan)
      return kNan;
    if (x == kZero)
      return y == kZero ? kNan : kZero;
    if ((y & kInfinite) && (x & kFinite))
      return kZero;
    return kAny;
  }

  static ValueClasses mulIntegerClass(ValueClasses x, ValueClasses y) {
    if (x == kZero || y == kZero)
      return kZero;
    return x == kOne ? y : y == kOne ? x : ValueClasses(kAny);
  }

  /// One of the two, where NaN goes through.
  static ValueClasses eitherClass(ValueClasses x, ValueClasses y) { return x == kNan || y == kNan ? ValueClasses(kNan) : x | y; }

  static ValueClasses expClass(ValueClasses x) {
    ValueClasses out = x & (kPosInf | kNan);
    if (x & kNegInf)
      out |= kZero;
    if (x & kZero)
      out |= kOne;
    if (x & (kOne | kOther))
      out |= kFinite | kPosInf;
    return out;
  }

  /// `x` where all of it is in `kept`: what an op does with others is not known.
  static ValueClasses within(ValueClasses kept, ValueClasses x) { return (x & ~kept) ? ValueClasses(kAny) : x; }

  ValueClasses classify(Operation *op) {
    auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
    auto both = [&](auto classOf) { return [&, classOf](auto) { return pairwise(operand(0), operand(1), classOf); }; };
    return llvm::TypeSwitch<Operation *, ValueClasses>(op)
        .Case<arith::ConstantOp>([&](auto c) { return ofConstant(c.getValue()); })
        .Case<arith::SelectOp>([&](arith::SelectOp s) {
          ValueClasses c = of(s.getCondition());
          return ((c & ~kZero) ? of(s.getTrueValue()) : 0) | ((c & kZero) ? of(s.getFalseValue()) : 0);
        })
        .Case<arith::AddFOp>(both(addClass))
        .Case<arith::SubFOp>([&](auto) { return pairwise(operand(0), negClass(operand(1)), addClass); })
        .Case<arith::NegFOp>([&](auto) { return negClass(operand(0)); })
        .Case<arith::MulFOp>(both([this](ValueClasses x, ValueClasses y) { return mulClass(x, y); }))
        .Case<arith::DivFOp>(both(divClass))
        .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp>(both(eitherClass))
        .Case<arith::MulIOp>(both(mulIntegerClass))
        .Case<arith::AndIOp>([&](auto) {
          return operand(0) == kZero || operand(1) == kZero ? ValueClasses(kZero) : bitwise(op, operand(0), operand(1), kOne);
        })
        .Case<arith::OrIOp>([&](auto) { return bitwise(op, operand(0), operand(1), kZero); })
        .Case<arith::ExtFOp>([&](auto) { return operand(0); })
        // A conversion saturates, rounds, or reads the bits as another number: only zero and one are safe everywhere.
        .Case<arith::ExtUIOp, arith::UIToFPOp, te::ConvertOp>([&](auto) { return within(kZero | kOne, operand(0)); })
        .Case<arith::TruncFOp, te::RoundOp>([&](auto) {
          ValueClasses c = operand(0);
          return (c & kOther) ? (c | kFinite | kInfinite) : c;
        })
        .Case<math::ExpOp, math::Exp2Op>([&](auto) { return expClass(operand(0)); })
        // f(0) = 0 and NaN goes through.
        .Case<math::AbsFOp, math::SqrtOp, math::TanhOp, math::ErfOp, math::SinOp, math::TanOp, math::AtanOp, math::AsinOp, math::SinhOp,
              math::AsinhOp, math::AtanhOp, math::ExpM1Op, math::Log1pOp, math::CbrtOp, math::FloorOp, math::CeilOp, math::TruncOp,
              math::RoundOp, math::RoundEvenOp>([&](auto) { return within(kZero | kNan, operand(0)); })
        .Default([](Operation *) { return ValueClasses(kAny); });
  }

  /// i1 only: `neutral` on one side gives the other.
  ValueClasses bitwise(Operation *op, ValueClasses x, ValueClasses y, ValueClasses neutral) {
    if (!op->getResult(0).getType().isInteger(1))
      return kAny;
    if (x == neutral || y == neutral)
      return x == neutral ? y : x;
    ValueClasses absorbing = neutral == kOne ? kZero : kOne;
    return x == absorbing || y == absorbing ? absorbing : ValueClasses(kZero | kOne);
  }

  bool realProducts_;
  llvm::DenseMap<Value, ValueClasses> known_;
};

} // namespace

llvm::DenseMap<Value, ValueClasses> classifyBody(Block &body, Value condition, bool value, bool realProducts) {
  return Classifier(condition, value, realProducts).run(body);
}

} // namespace kernelc::te

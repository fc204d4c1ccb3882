// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/SpecialErrors.h"

#include <limits>

#include "ir/te/TeShape.h"
#include "reference/NarrowFloats.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// ErrorMath with questions about infinities and NaN; null errors are zero.
class Specials : public ErrorMath {
public:
  Specials(Builder &b, Value like) : ErrorMath(b, like), b_(b) {}

  Value isInfinite(Value v) { return cmp(arith::CmpFPredicate::OEQ, abs(v), infinity()); }
  Value isExact(Value e) { return cmp(arith::CmpFPredicate::OEQ, e ? e : zero(), zero()); }
  /// Whether s is surely not zero, of its sign.
  Value isNonzero(Scalar s) { return less(s.e ? s.e : zero(), abs(s.v)); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b_, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b_, x, y); }
  /// The least error of a NaN among `in`; infinity if none is known.
  Value leastOfNan(ArrayRef<Scalar> in) {
    Value least;
    for (const Scalar &s : in) {
      Value e = select(isNan(s.v), s.e ? s.e : zero(), infinity());
      least = least ? min(least, e) : e;
    }
    return least ? least : infinity();
  }
  /// `finite` where v is, `nan` where it is NaN, and else 0 if `isSure`.
  Value choose(Value v, Value finite, Value nan, Value isSure) {
    return select(isFinite(v), finite, select(isNan(v), nan, select(isSure, zero(), infinity())));
  }

private:
  Builder &b_;
};

/// Whether x, which may be off by e, surely lies where the function is NaN; null: it never does.
Value outsideDomain(Specials &m, StringRef name, Value x, Value e) {
  Value one = m.constant(1), high = m.add(x, e);
  Value below = m.less(high, m.zero());
  return llvm::StringSwitch<Value>(name)
      .Cases({"math.log", "math.log2", "math.log10", "math.sqrt", "math.rsqrt"}, below)
      .Case("math.log1p", m.less(m.add(high, one), m.zero()))
      .Case("math.acosh", m.less(high, one))
      .Cases({"math.asin", "math.acos", "math.atanh"}, m.less(one, m.sub(m.abs(x), e)))
      .Default(Value());
}

SmallVector<Scalar> sameLanes(Builder &b, ArrayRef<Scalar> in, Value v) {
  SmallVector<Scalar> wide;
  for (const Scalar &s : in)
    wide.push_back({splat(b, s.v, lanesOf(v)), s.e ? splat(b, s.e, lanesOf(v)) : Value(), {}});
  return wide;
}

} // namespace

Value specialProductError(Builder &b, Scalar x, Scalar y, Value product, Value e, double generated) {
  Specials m(b, product);
  SmallVector<Scalar> in = sameLanes(b, {x, y}, product);
  Value exact = m.both(m.isExact(in[0].e), m.isExact(in[1].e));
  // A zero that the program makes may be passed over, whatever it meets.
  auto ofNan = [&](Scalar s, Scalar other) {
    Value own = s.e ? s.e : m.zero();
    return m.select(m.isNan(s.v), m.select(m.either(m.isNonzero(other), m.isNan(other.v)), own, m.max(own, m.constant(generated))),
                    m.infinity());
  };
  Value nan = m.min(m.min(ofNan(in[0], in[1]), ofNan(in[1], in[0])), m.select(exact, m.constant(generated), m.infinity()));
  Value infinite = m.either(m.isInfinite(in[0].v), m.isInfinite(in[1].v));
  return m.choose(product, e ? e : m.zero(), nan, m.both(infinite, m.both(m.isNonzero(in[0]), m.isNonzero(in[1]))));
}

static Value specialQuotientError(Builder &b, Scalar x, Scalar y, Value quotient, Value e) {
  Specials m(b, quotient);
  SmallVector<Scalar> in = sameLanes(b, {x, y}, quotient);
  Value exact = m.isExact(in[1].e);
  Value nan = m.min(m.leastOfNan(in), m.select(m.both(exact, m.isExact(in[0].e)), m.constant(kAsWritten), m.infinity()));
  Value byZero = m.cmp(arith::CmpFPredicate::OEQ, in[1].v, m.zero());
  Value sure = m.both(m.isNonzero(in[0]), m.both(m.either(exact, m.isNonzero(in[1])), m.either(m.isInfinite(in[0].v), byZero)));
  return m.choose(quotient, e, nan, sure);
}

Value keptNanError(Builder &b, ArrayRef<Scalar> in, Value v, Value e) {
  if (!e || llvm::none_of(in, [](const Scalar &s) { return bool(s.e); }))
    return e;
  Specials m(b, v);
  Value least = m.leastOfNan(sameLanes(b, in, v));
  return m.select(m.both(m.isNan(v), m.less(least, m.infinity())), least, e);
}

Value specialError(Builder &b, Operation *op, ArrayRef<Scalar> in, Value v, Value e) {
  if (isa<arith::MulFOp>(op))
    return specialProductError(b, in[0], in[1], v, e);
  if (isa<arith::DivFOp>(op))
    return specialQuotientError(b, in[0], in[1], v, e);
  // These give numbers for NaN.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp, math::ClampFOp>(op))
    return e;
  SmallVector<Scalar> floats;
  for (auto [s, operand] : llvm::zip(in, op->getOperands()))
    if (isa<FloatType>(operand.getType()))
      floats.push_back(s);
  Value kept = keptNanError(b, floats, v, e);
  if (!kept || floats.size() != 1 || !floats[0].e)
    return kept;
  Specials m(b, v);
  Value outside = outsideDomain(m, op->getName().getStringRef(), floats[0].v, floats[0].e);
  return outside ? m.select(m.both(m.isNan(v), outside), m.zero(), kept) : kept;
}

SumTerm sumTerm(Builder &b, Value v, Value e) {
  Specials m(b, v);
  Value finite = m.isFinite(v), isNan = m.isNan(v);
  Value nan = m.constant(std::numeric_limits<double>::quiet_NaN());
  if (!e)
    return {Value(), m.select(finite, m.abs(v), m.select(isNan, nan, m.zero()))};
  Value known = m.select(isNan, m.isExact(e), m.less(e, m.infinity()));
  return {m.select(finite, e, m.select(known, m.zero(), m.infinity())),
          m.select(finite, m.add(m.abs(v), e), m.select(m.both(isNan, known), nan, m.zero()))};
}

Value specialSumError(Builder &b, Value sum, Value propagated, Value magnitude, double largest, bool opposites) {
  Specials m(b, sum);
  Value small = m.less(m.add(propagated, magnitude), m.constant(largest / 4)); // half of it for roundings
  Value known = m.either(m.isNan(magnitude), opposites ? small : m.both(small, m.isInfinite(sum)));
  return m.select(known, m.zero(), m.infinity());
}

bool isSumOfElements(te::ReduceOp op) {
  auto isElement = [&](Value v) {
    while (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(v.getDefiningOp()))
      v = v.getDefiningOp()->getOperand(0);
    auto read = v.getDefiningOp<te::ReadOp>();
    if (!read || !isa<BlockArgument>(read.getTensor()))
      return false;
    for (unsigned d = op.getNumParallel(); d < op.getNumDims(); ++d)
      if (!llvm::is_contained(read.getOperands_(), Value(op.getBlock().getArgument(d))))
        return false;
    return true;
  };
  Value term = op.getYield().getValues()[0];
  auto product = term.getDefiningOp<arith::MulFOp>();
  return product ? isElement(product.getLhs()) && isElement(product.getRhs()) : isElement(term);
}

Scalar overflowed(Builder &b, Scalar s, Value roundedError, Type to) {
  FloatFacts f = floatFacts(to);
  Specials m(b, s.v);
  double halfway = f.largest * (2 - f.unitRoundoff) / (2 - 2 * f.unitRoundoff); // ties to even: to infinity
  Value least = s.e ? m.sub(m.abs(s.v), s.e) : m.abs(s.v);
  Value over = m.both(m.isFinite(s.v), m.cmp(arith::CmpFPredicate::OGE, least, m.constant(halfway)));
  Value infinite = math::CopySignOp::create(b, m.infinity(), s.v);
  return {m.select(over, infinite, s.v), m.select(over, m.zero(), roundedError), s.bad};
}

} // namespace kernelc::reference

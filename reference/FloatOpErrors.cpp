// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// floatOpError: what each arith and math op on floats does to the bounds.
#include "ir/te/Erf.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/ErrorMath.h"
#include "reference/ErrorRules.h"
#include "reference/MathLibrary.h"
#include "reference/NarrowFloats.h"
#include "reference/SpecialErrors.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// Propagated errors of functions of one argument: |f(x') - f(x)| for |x' - x| <= e.
class UnaryRules {
public:
  UnaryRules(Builder &b, Value x, Value e, Value v) : b(b), m(b, v), x(x), e(e), v(v) {}

  Value propagate(StringRef name) {
    enum Kind {
      Exp,
      Exp2,
      Expm1,
      Log,
      Log2,
      Log10,
      Log1p,
      Tanh,
      Erf,
      Bounded,
      Tan,
      Asin,
      Atan,
      Asinh,
      Acosh,
      Atanh,
      Sinh,
      Cosh,
      Cbrt,
      Rsqrt,
      Sqrt,
      Unknown
    };
    Kind kind = llvm::StringSwitch<Kind>(name)
                    .Case("math.exp", Exp)
                    .Case("math.exp2", Exp2)
                    .Case("math.expm1", Expm1)
                    .Case("math.log", Log)
                    .Case("math.log2", Log2)
                    .Case("math.log10", Log10)
                    .Case("math.log1p", Log1p)
                    .Case("math.tanh", Tanh)
                    .Cases({"math.erf", "math.erfc"}, Erf)
                    .Cases({"math.sin", "math.cos"}, Bounded)
                    .Case("math.tan", Tan)
                    .Cases({"math.asin", "math.acos"}, Asin)
                    .Case("math.atan", Atan)
                    .Case("math.asinh", Asinh)
                    .Case("math.acosh", Acosh)
                    .Case("math.atanh", Atanh)
                    .Case("math.sinh", Sinh)
                    .Case("math.cosh", Cosh)
                    .Case("math.cbrt", Cbrt)
                    .Case("math.rsqrt", Rsqrt)
                    .Case("math.sqrt", Sqrt)
                    .Default(Unknown);
    Value one = m.constant(1);
    switch (kind) {
    case Exp: return m.mul(v, pure("kc_expm1", e));
    case Exp2: return m.mul(v, pure("kc_expm1", m.mul(e, m.constant(0.6931471805599454))));
    case Expm1: return m.mul(m.add(v, one), pure("kc_expm1", e));
    case Log: return logarithm(x, 1);
    case Log2: return logarithm(x, 1.4426950408889636);
    case Log10: return logarithm(x, 0.4342944819032519);
    case Log1p: return logarithm(m.add(x, one), 1);
    case Tanh: { // the slope is largest nearest to zero
      Value t = callIntrinsic(b, "llvm.tanh", v.getType(), nearest());
      return m.mul(e, m.sub(one, m.mul(t, t)));
    }
    case Erf: {
      Value d = nearest();
      Value slope = callIntrinsic(b, "llvm.exp", v.getType(), Value(arith::NegFOp::create(b, m.mul(d, d))));
      return m.mul(e, m.mul(slope, m.constant(1.1283791670955128)));
    }
    case Bounded: return m.min(e, m.constant(2));
    case Tan: {
      Value small = m.less(m.mul(m.add(one, m.abs(v)), e), m.constant(0.25));
      return m.select(small, m.mul(m.mul(e, m.constant(2.5)), m.add(one, m.mul(v, v))), m.infinity());
    }
    case Asin: return within(m.sub(one, square(m.add(m.abs(x), e))), true);
    case Atan: return m.div(e, m.add(one, square(nearest())));
    case Asinh: return m.div(e, root(m.add(one, square(nearest()))));
    case Acosh: {
      Value low = m.sub(x, e);
      return m.select(m.less(one, low), m.div(e, root(m.sub(square(low), one))), m.infinity());
    }
    case Atanh: return within(m.sub(one, square(m.add(m.abs(x), e))), false);
    case Sinh: return m.mul(e, callIntrinsic(b, "llvm.cosh", v.getType(), m.add(m.abs(x), e)));
    case Cosh: return m.mul(e, callIntrinsic(b, "llvm.sinh", v.getType(), m.add(m.abs(x), e)));
    case Cbrt: {
      Value c = pure("kc_cbrt", nearest());
      return m.min(m.div(e, m.mul(m.constant(3), square(c))), pure("kc_cbrt", m.mul(m.constant(4), e)));
    }
    case Rsqrt: {
      Value low = m.sub(x, e);
      return m.select(m.less(m.zero(), low), m.div(m.mul(m.constant(0.5), e), m.mul(low, root(low))), m.infinity());
    }
    case Sqrt: {
      Value low = m.sub(x, e);
      Value inside = m.cmp(arith::CmpFPredicate::OGE, low, m.zero());
      return m.select(inside, m.min(m.div(e, v), root(e)), m.infinity());
    }
    case Unknown: break;
    }
    return m.select(m.less(m.zero(), e), m.infinity(), m.zero());
  }

private:
  Value pure(const char *symbol, Value arg) { return callPure(b, symbol, arg.getType(), arg); }
  Value square(Value a) { return m.mul(a, a); }
  Value root(Value a) { return math::SqrtOp::create(b, a); }
  /// max(|x| - e, 0): the magnitude closest to zero.
  Value nearest() { return m.max(m.sub(m.abs(x), e), m.zero()); }
  /// -log1p(-e / a) * scale where e < a.
  Value logarithm(Value a, double scale) {
    Value change = arith::NegFOp::create(b, pure("kc_log1p", arith::NegFOp::create(b, m.div(e, a))));
    return m.select(m.less(e, a), m.mul(change, m.constant(scale)), m.infinity());
  }
  /// e / room or e / sqrt(room) where room > 0.
  Value within(Value room, bool takeRoot) { return m.select(m.less(m.zero(), room), m.div(e, takeRoot ? root(room) : room), m.infinity()); }

  Builder &b;
  ErrorMath m;
  Value x, e, v;
};

Value propagatePow(Builder &b, ErrorMath &m, Value x, Value ex, Value y, Value ey, Value v) {
  Value size = m.abs(x);
  // Relative: |y| ex / (|x| - ex) + |log|x|| ey.
  Value relative;
  if (ex)
    relative = m.div(m.mul(m.abs(y), ex), m.sub(size, ex));
  if (ey)
    relative = m.addMaybe(relative, m.mul(m.abs(callIntrinsic(b, "llvm.log", v.getType(), size)), ey));
  Value p = m.mul(m.abs(v), callPure(b, "kc_expm1", relative.getType(), relative));
  if (!ex)
    return p;
  // Around zero a nonnegative power stays below that of the largest magnitude.
  Value reach = m.addMaybe(m.add(size, ex), Value());
  Value top = m.add(callIntrinsic(b, "llvm.pow", v.getType(), {reach, m.addMaybe(m.abs(y), ey)}), m.abs(v));
  Value safe = m.cmp(arith::CmpFPredicate::OGE, ey ? m.sub(y, ey) : y, m.zero());
  Value nearZero = m.select(safe, m.max(top, m.abs(v)), m.infinity());
  Value exact = m.cmp(arith::CmpFPredicate::OEQ, m.addMaybe(ex, ey), m.zero());
  return m.select(exact, m.zero(), m.select(m.less(ex, size), p, nearZero));
}

/// The rules of one op: what the errors of its operands come to, and its own rounding.
class OpRules {
public:
  OpRules(Builder &b, Operation *op, ArrayRef<Scalar> in, Value v) : b(b), op(op), in(in), v(v), lanes_(lanesOf(v)), m(b, v) {}

  Value find() {
    if (isa<arith::CmpFOp>(op))
      return mayDiffer();
    if (isa<math::IsNaNOp, math::IsInfOp, math::IsFiniteOp, math::IsNormalOp>(op))
      return in[0].e ? m.cmp(arith::CmpFPredicate::UGE, e(0), m.infinity()) : Value();
    if (!isa<FloatType>(getElementTypeOrSelf(v.getType())))
      return unknownError(b, in[0], v.getType());
    for (unsigned i = 0; i < in.size(); ++i)
      if (isa<FloatType>(op->getOperand(i).getType()))
        all_ = m.addMaybe(all_, e(i));
    if (std::optional<Value> error = ofExact())
      return *error;
    return rounded(propagate());
  }

private:
  Value e(unsigned i) { return in[i].e ? splat(b, in[i].e, lanes_) : Value(); }
  Type type() { return op->getResult(0).getType(); }
  Value special(Value error) { return specialError(b, op, in, v, error); }

  /// Whether a comparison may come out otherwise.
  Value mayDiffer() {
    Value reach = m.addMaybe(e(0), e(1));
    if (!reach)
      return {};
    Value gap = m.abs(m.sub(in[0].v, in[1].v));
    return arith::AndIOp::create(b, m.less(m.zero(), reach), m.atMost(gap, reach));
  }

  /// Of ops that do not round.
  std::optional<Value> ofExact() {
    if (isa<arith::NegFOp, math::AbsFOp>(op))
      return e(0);
    if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, math::ClampFOp>(op))
      return all_ ? special(m.clean(m.maxMaybe(m.maxMaybe(e(0), e(1)), in.size() > 2 ? e(2) : Value()), all_)) : Value();
    if (isa<math::CopySignOp>(op))
      return ofCopySign();
    if (isa<math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp, math::RoundEvenOp>(op))
      return ofWholeNumbers();
    if (isa<arith::RemFOp>(op))
      return special(unknownError(b, {v, all_}, v.getType()));
    return std::nullopt;
  }
  Value ofCopySign() {
    if (!e(1))
      return e(0);
    Value flips = m.cmp(arith::CmpFPredicate::OLE, m.abs(in[1].v), e(1));
    Value either = m.addMaybe(m.mul(m.constant(2), m.abs(v)), e(0));
    return m.select(arith::AndIOp::create(b, m.less(m.zero(), e(1)), flips), either, e(0) ? e(0) : m.zero());
  }
  Value ofWholeNumbers() {
    if (!all_)
      return {};
    auto apply = [&](Value x) { // the same op on f64
      OperationState state(b.getLoc(), op->getName(), x, x.getType(), op->getAttrs());
      return b.create(state)->getResult(0);
    };
    return special(m.clean(m.sub(apply(m.add(in[0].v, e(0))), apply(m.sub(in[0].v, e(0)))), all_));
  }

  /// What the operands' errors come to before this op rounds, and what a device may do in its place.
  Value propagate() {
    if (isa<arith::AddFOp, arith::SubFOp>(op))
      return ofSum();
    if (isa<arith::MulFOp>(op))
      return m.product(in[0].v, e(0), in[1].v, e(1));
    if (isa<math::FmaOp>(op))
      return m.addMaybe(m.product(in[0].v, e(0), in[1].v, e(1)), e(2));
    if (isa<arith::DivFOp>(op))
      return ofQuotient();
    Value p = all_ ? ofFunction() : Value();
    return isa<math::ExpOp>(op) && type().isF32() ? m.addMaybe(m.clean(p, all_), ofBaseTwo()) : p;
  }
  Value ofSum() {
    Value p = all_;
    // A device may compute 1 + erf(x) as one function (te-uplift-math).
    if (te::findErfBesideOne(op))
      p = m.addMaybe(p, m.constant(0x1p-22));
    // And exp(x - y) as exp2(x * log2(e) - y * log2(e)) (te-base-two): so much of the larger one.
    if (type().isF32() && llvm::any_of(op->getUsers(), [](Operation *user) { return isa<math::ExpOp>(user); })) {
      Value shift = m.mul(m.max(m.abs(in[0].v), m.abs(in[1].v)), m.constant(0x1p-24));
      p = m.addMaybe(p, m.select(m.isFinite(v), shift, m.zero()));
    }
    return p;
  }
  Value ofQuotient() {
    Value room = m.abs(in[1].v);
    if (!e(1))
      return e(0) ? m.div(e(0), room) : Value();
    room = m.sub(room, e(1));
    Value p = m.div(m.addMaybe(m.scaled(v, e(1)), e(0)), room);
    return m.select(m.less(m.zero(), room), p, m.select(m.less(m.zero(), e(1)), m.infinity(), p));
  }
  Value ofFunction() {
    if (isa<math::PowFOp>(op))
      return propagatePow(b, m, in[0].v, e(0), in[1].v, e(1), v);
    if (isa<math::FPowIOp>(op))
      return propagatePow(b, m, in[0].v, e(0), arith::SIToFPOp::create(b, v.getType(), in[1].v), Value(), v);
    if (isa<math::Atan2Op>(op)) {
      Value r = m.add(m.abs(in[0].v), m.abs(in[1].v)); // at least the radius
      Value near = m.less(m.mul(m.constant(4), all_), r);
      return m.select(near, m.div(m.mul(m.constant(3), all_), r), m.constant(6.3));
    }
    return UnaryRules(b, in[0].v, e(0), v).propagate(op->getName().getStringRef());
  }
  /// A device may compute exp2(x * log2(e)): the product's rounding shifts the exponent, and what is smaller than normal numbers is zero.
  Value ofBaseTwo() {
    Value size = m.min(m.abs(in[0].v), m.constant(128));
    Value shift = m.add(m.mul(m.abs(v), m.mul(size, m.constant(0x1p-23))), m.constant(0x1p-126));
    return m.select(m.isFinite(v), shift, m.zero());
  }

  /// With this op's own rounding.
  Value rounded(Value p) {
    FloatFacts f = floatFacts(isNarrowFloat(type()) ? Type(b.getF32Type()) : type());
    double unit = f.unitRoundoff, tiny = f.tiny;
    if (const MathFunction *function = findMathFunction(op->getName().getStringRef())) {
      double ulps = unit < 0x1p-50 ? function->ulp64 : function->ulp32;
      unit *= 2 * ulps;
      tiny *= 1 + ulps;
    }
    Value bound = special(m.rounded(m.clean(p, all_), v, unit, tiny, f.largest));
    return isNarrowFloat(type()) ? roundingError(b, {v, bound}, type()) : bound;
  }

  Builder &b;
  Operation *op;
  ArrayRef<Scalar> in;
  Value v;
  int64_t lanes_;
  ErrorMath m;
  Value all_; ///< sum of the float operands' errors; null: all are exact
};

} // namespace

Value floatOpError(Builder &b, Operation *op, ArrayRef<Scalar> in, Value v) { return OpRules(b, op, in, v).find(); }

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// floatOpError: what each arith and math op on floats does to the bounds.
#include "ir/te/Erf.h"
#include "ir/te/Exponents.h"
#include "ir/te/Te.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/ErrorMath.h"
#include "reference/ErrorRules.h"
#include "reference/MathLibrary.h"
#include "reference/NarrowFloats.h"
#include "reference/SpecialErrors.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// Propagated errors of functions of one argument: |f(x') - f(x)| for |x' - x| <= e.
class UnaryRules {
public:
  UnaryRules(Builder &b, Value x, Value e, Value v) : b(b), m(b, v), x(x), e(e), v(v) {}

  Value propagate(StringRef op);

private:
  struct Rule {
    StringLiteral op;
    Value (*error)(UnaryRules &);
  };
  static const Rule kRules[];

  Value one() { return m.constant(1); }
  /// Of functions whose slope grows towards |x| = 1.
  Value withinOne(bool takeRoot) { return within(m.sub(one(), square(m.add(m.abs(x), e))), takeRoot); }
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
  Value errorFunction() {
    Value d = nearest();
    Value slope = callIntrinsic(b, "llvm.exp", v.getType(), Value(arith::NegFOp::create(b, m.mul(d, d))));
    return m.mul(e, m.mul(slope, m.constant(1.1283791670955128)));
  }
  /// e / room or e / sqrt(room) where room > 0.
  Value within(Value room, bool takeRoot) { return m.select(m.less(m.zero(), room), m.div(e, takeRoot ? root(room) : room), m.infinity()); }

  Builder &b;
  ErrorMath m;
  Value x, e, v;
};

const UnaryRules::Rule UnaryRules::kRules[] = {
    {"math.exp", [](UnaryRules &r) { return r.m.mul(r.v, r.pure("kc_expm1", r.e)); }},
    {"math.exp2", [](UnaryRules &r) { return r.m.mul(r.v, r.pure("kc_expm1", r.m.mul(r.e, r.m.constant(0.6931471805599454)))); }},
    {"math.expm1", [](UnaryRules &r) { return r.m.mul(r.m.add(r.v, r.one()), r.pure("kc_expm1", r.e)); }},
    {"math.log", [](UnaryRules &r) { return r.logarithm(r.x, 1); }},
    {"math.log2", [](UnaryRules &r) { return r.logarithm(r.x, 1.4426950408889636); }},
    {"math.log10", [](UnaryRules &r) { return r.logarithm(r.x, 0.4342944819032519); }},
    {"math.log1p", [](UnaryRules &r) { return r.logarithm(r.m.add(r.x, r.one()), 1); }},
    {"math.tanh",
     [](UnaryRules &r) { // the slope is largest nearest to zero
       Value t = callIntrinsic(r.b, "llvm.tanh", r.v.getType(), r.nearest());
       return r.m.mul(r.e, r.m.sub(r.one(), r.m.mul(t, t)));
     }},
    {"math.erf", [](UnaryRules &r) { return r.errorFunction(); }},
    {"math.erfc", [](UnaryRules &r) { return r.errorFunction(); }},
    {"math.sin", [](UnaryRules &r) { return r.m.min(r.e, r.m.constant(2)); }},
    {"math.cos", [](UnaryRules &r) { return r.m.min(r.e, r.m.constant(2)); }},
    {"math.tan",
     [](UnaryRules &r) {
       ErrorMath &m = r.m;
       Value small = m.less(m.mul(m.add(r.one(), m.abs(r.v)), r.e), m.constant(0.25));
       return m.select(small, m.mul(m.mul(r.e, m.constant(2.5)), m.add(r.one(), m.mul(r.v, r.v))), m.infinity());
     }},
    {"math.asin", [](UnaryRules &r) { return r.withinOne(true); }},
    {"math.acos", [](UnaryRules &r) { return r.withinOne(true); }},
    {"math.atan", [](UnaryRules &r) { return r.m.div(r.e, r.m.add(r.one(), r.square(r.nearest()))); }},
    {"math.asinh", [](UnaryRules &r) { return r.m.div(r.e, r.root(r.m.add(r.one(), r.square(r.nearest())))); }},
    {"math.acosh",
     [](UnaryRules &r) {
       Value low = r.m.sub(r.x, r.e);
       return r.m.select(r.m.less(r.one(), low), r.m.div(r.e, r.root(r.m.sub(r.square(low), r.one()))), r.m.infinity());
     }},
    {"math.atanh", [](UnaryRules &r) { return r.withinOne(false); }},
    {"math.sinh", [](UnaryRules &r) { return r.m.mul(r.e, callIntrinsic(r.b, "llvm.cosh", r.v.getType(), r.m.add(r.m.abs(r.x), r.e))); }},
    {"math.cosh", [](UnaryRules &r) { return r.m.mul(r.e, callIntrinsic(r.b, "llvm.sinh", r.v.getType(), r.m.add(r.m.abs(r.x), r.e))); }},
    {"math.cbrt",
     [](UnaryRules &r) {
       Value c = r.pure("kc_cbrt", r.nearest());
       return r.m.min(r.m.div(r.e, r.m.mul(r.m.constant(3), r.square(c))), r.pure("kc_cbrt", r.m.mul(r.m.constant(4), r.e)));
     }},
    {"math.rsqrt",
     [](UnaryRules &r) {
       Value low = r.m.sub(r.x, r.e);
       return r.m.select(r.m.less(r.m.zero(), low), r.m.div(r.m.mul(r.m.constant(0.5), r.e), r.m.mul(low, r.root(low))), r.m.infinity());
     }},
    {"math.sqrt",
     [](UnaryRules &r) {
       Value low = r.m.sub(r.x, r.e), inside = r.m.cmp(arith::CmpFPredicate::OGE, low, r.m.zero());
       return r.m.select(inside, r.m.min(r.m.div(r.e, r.v), r.root(r.e)), r.m.infinity());
     }},
};

Value UnaryRules::propagate(StringRef op) {
  for (const Rule &rule : kRules)
    if (rule.op == op)
      return rule.error(*this);
  return m.select(m.less(m.zero(), e), m.infinity(), m.zero());
}

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
    if (isa<arith::DivFOp>(op)) { // (kc_divide_by)
      return type().isF32() ? m.addMaybe(ofQuotient(), m.select(m.isFinite(v), m.constant(0x1p-123), m.zero())) : ofQuotient();
    }
    Value p = all_ ? ofFunction() : Value();
    // A device may compute one of which only exponentials are taken by two instructions (te-uplift-math).
    if (isa<math::TanhOp>(op) && type().isF32() && te::isOfRoundedExponents(op->getResult(0)))
      return m.addMaybe(m.clean(p, all_), m.select(m.isFinite(v), m.constant(te::kTanhError), m.zero()));
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ErrorRules.h"

#include <limits>

#include "ir/te/Factors.h"
#include "ir/te/Hints.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/ErrorMath.h"
#include "reference/NarrowFloats.h"
#include "reference/SpecialErrors.h"

using namespace mlir;

namespace kernelc::reference {

Value isUncertain(Builder &b, Value e) {
  if (getElementTypeOrSelf(e.getType()).isInteger(1))
    return e;
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, e, constFloat(b, e.getType(), 0));
}

static bool isBool(Value v) { return getElementTypeOrSelf(v.getType()).isInteger(1); }

Value unknownIf(Builder &b, Value uncertain, Scalar r) {
  if (isBool(r.v))
    return orMaybe(b, uncertain, r.e);
  ErrorMath m(b, r.v);
  return m.select(uncertain, m.infinity(), r.e ? r.e : m.zero());
}

Value unknownError(Builder &b, Scalar s, Type type) {
  if (!s.e)
    return {};
  Value unsure = isUncertain(b, s.e);
  if (getElementTypeOrSelf(type).isInteger(1))
    return unsure;
  ErrorMath m(b, s.v);
  return m.select(unsure, m.infinity(), m.zero());
}

// Two factors a, b as a = h + l + r with |l + r| <= u |a| and |r| <= u^2 |a|: the sum of the parts
// leaves out (l + r) (l' + r') + h r' + r h', less than (3 + 2 u) u^2 |a b|. With an error of
// u^2 |a| for h, and so for the rest a - h, whose value is 0 here, the three products have
// (4 + 2 u) u^2 |a b| together.
Value roundingError(Builder &b, Scalar s, Type to, bool highPart) {
  FloatFacts f = floatFacts(to);
  ErrorMath m(b, s.v);
  Value e = m.rounded(s.e, s.v, highPart ? f.unitRoundoff * f.unitRoundoff : f.unitRoundoff, f.tiny,
                      f.saturates ? std::numeric_limits<double>::infinity() : f.largest);
  return keptNanError(b, s, s.v, e);
}

Value integerCastError(Builder &b, Scalar s, bool) {
  if (!s.e)
    return {};
  // Truncation is monotone; saturation only brings values together.
  ErrorMath m(b, s.v);
  Value high = math::TruncOp::create(b, m.add(s.v, s.e)), low = math::TruncOp::create(b, m.sub(s.v, s.e));
  Value finite = m.isFinite(s.v), known = m.less(s.e, m.infinity());
  return m.select(finite, m.clean(m.sub(high, low), s.e), m.select(known, m.zero(), m.infinity()));
}

/// The error of an integer as f64.
static Value asF64(Builder &b, Value e) {
  return e && isBool(e) ? Value(arith::UIToFPOp::create(b, shapedLike(b.getF64Type(), e.getType()), e)) : e;
}

Value fromIntegerError(Builder &b, Scalar s, Value v, Type from, Type to) {
  Value e = asF64(b, s.e);
  unsigned bits = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
  FloatFacts f = floatFacts(to);
  if (std::ldexp(f.unitRoundoff, int(bits)) <= 1)
    return e;
  ErrorMath m(b, v);
  return m.rounded(e, v, f.unitRoundoff, 0, f.saturates ? std::numeric_limits<double>::infinity() : f.largest);
}

/// |t - f| of two values of one type as f64; i1 for bools.
static Value difference(Builder &b, Value t, Value f) {
  if (isBool(t))
    return arith::XOrIOp::create(b, t, f);
  Type f64 = shapedLike(b.getF64Type(), t.getType());
  if (t.getType() != f64) {
    t = arith::SIToFPOp::create(b, f64, t);
    f = arith::SIToFPOp::create(b, f64, f);
  }
  ErrorMath m(b, t);
  // Equal infinities differ by nothing, nor do two NaN.
  Value same = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, t, f);
  same = arith::OrIOp::create(b, same, arith::AndIOp::create(b, m.isNan(t), m.isNan(f)));
  Value d = m.abs(m.sub(t, f));
  return m.select(same, m.zero(), m.select(m.isNan(d), m.infinity(), d));
}

Value selectError(Builder &b, Scalar c, Scalar t, Scalar f) {
  Value values[] = {c.v, t.v, f.v};
  unifyLanes(b, values);
  int64_t lanes = lanesOf(values[0]);
  auto wide = [&](Value v) { return v ? splat(b, v, lanes) : v; };
  Value te = wide(t.e), fe = wide(f.e), ce = wide(c.e);
  if (isBool(t.v)) {
    Value no = constInt(b, values[0].getType(), 0);
    Value own = te || fe ? Value(arith::SelectOp::create(b, values[0], te ? te : no, fe ? fe : no)) : Value();
    if (!ce)
      return own;
    Value either = orMaybe(b, difference(b, values[1], values[2]), orMaybe(b, te, fe));
    return orMaybe(b, own, arith::AndIOp::create(b, ce, either));
  }
  ErrorMath m(b, values[1]);
  Value own = te || fe ? m.select(values[0], te ? te : m.zero(), fe ? fe : m.zero()) : Value();
  if (!ce)
    return own;
  Value either = m.addMaybe(difference(b, values[1], values[2]), m.maxMaybe(te, fe));
  return m.select(ce, either, own ? own : m.zero());
}

Value integerOpError(Builder &b, Operation *op, ArrayRef<Scalar> in, Value v) {
  Value unsure;
  for (const Scalar &s : in)
    if (s.e)
      unsure = orMaybe(b, unsure, isUncertain(b, s.e));
  unsure = splat(b, unsure, lanesOf(v));
  auto floatOf = [&](Value x) -> Value { return arith::SIToFPOp::create(b, shapedLike(b.getF64Type(), x.getType()), x); };
  auto no = [&] { return constInt(b, unsure.getType(), 0); };
  if (isBool(v)) {
    if (isa<arith::AndIOp, arith::OrIOp>(op)) {
      // A side that surely decides makes the other irrelevant.
      bool isAnd = isa<arith::AndIOp>(op);
      Value decided;
      for (const Scalar &s : in) {
        Value one = constInt(b, s.v.getType(), 1);
        Value deciding = isAnd ? Value(arith::XOrIOp::create(b, s.v, one)) : s.v;
        Value sure = s.e ? Value(arith::AndIOp::create(b, deciding, arith::XOrIOp::create(b, splat(b, s.e, lanesOf(s.v)), one))) : deciding;
        decided = orMaybe(b, decided, sure);
      }
      return arith::SelectOp::create(b, decided, no(), unsure);
    }
    if (isa<arith::CmpIOp>(op) && !isBool(in[0].v)) {
      ErrorMath m(b, floatOf(in[0].v));
      Value reach = m.addMaybe(asF64(b, in[0].e), asF64(b, in[1].e));
      return arith::AndIOp::create(b, unsure, m.atMost(difference(b, in[0].v, in[1].v), reach));
    }
    return unsure;
  }
  ErrorMath m(b, v);
  auto e = [&](unsigned i) { return asF64(b, in[i].e ? splat(b, in[i].e, lanesOf(v)) : Value()); };
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return m.addMaybe(e(0), e(1));
  if (isa<arith::MulIOp>(op))
    return m.product(floatOf(in[0].v), e(0), floatOf(in[1].v), e(1));
  if (isa<arith::MaxSIOp, arith::MinSIOp>(op))
    return m.maxMaybe(e(0), e(1));
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op) && (isBool(in[0].v) || isa<arith::ExtSIOp>(op)))
    return e(0);
  return m.select(unsure, m.infinity(), m.zero());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SumUnit sumUnit(te::ReduceOp op) {
  Value term = op.getYield().getValues()[0];
  if (term.getType().isF64())
    return {0x1p-52}; // the device's rounding and the oracle's
  // A product of narrow floats may run on tensor cores: those of 16 bits and tf32
  // truncate what they add, those of f8 keep few bits. Small integers go there as
  // 16-bit floats. Two factors are multiplied there; others are scales of (partial) sums.
  auto narrowest = [](Value v) -> unsigned {
    Operation *op = v.getDefiningOp();
    if (isa_and_nonnull<te::RoundOp>(op))
      return 16;
    if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op)) {
      Operation *wide = op->getOperand(0).getDefiningOp();
      Value in = isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(wide) ? wide->getOperand(0) : op->getOperand(0);
      return in.getType().isInteger(8) ? 16 : 32;
    }
    auto cast = dyn_cast_or_null<arith::ExtFOp>(op);
    return cast ? cast.getIn().getType().getIntOrFloatBitWidth() : 32u;
  };
  SmallVector<unsigned> bits;
  for (OpOperand *factor : te::findFactors(term))
    bits.push_back(narrowest(factor->get()));
  llvm::sort(bits);
  // What is added are the parts, whose magnitudes together exceed those of the products by some 4 u.
  if (llvm::any_of(op.getBlock(), [](Operation &o) { return te::isHighPart(&o); })) {
    bool isTf32 = llvm::any_of(op.getBlock(), llvm::IsaPred<te::RoundOp>);
    int64_t kept = te::accumulatesFast(te::getKernel(op)) ? std::numeric_limits<int64_t>::max() / 2
                   : isTf32                               ? te::kMostInUnitTf32
                                                          : te::kMostInUnit;
    return {.step = 0x1.1p-24, .inParts = true, .kept = kept};
  }
  if (te::getKernel(op).getSumsInF32())
    return {0x1p-24};
  if (bits.size() >= 2 && bits[1] <= 8)
    return {0x1p-23, true, te::accumulatesFast(te::getKernel(op))};
  return {bits.size() >= 2 && bits[1] <= 16 ? 0x1p-23 : 0x1p-24};
}

Value productError(Builder &b, Scalar x, Scalar y, Value product, double generated) {
  ErrorMath m(b, product);
  return specialProductError(b, x, y, product, m.clean(m.product(x.v, x.e, y.v, y.e), m.addMaybe(x.e, y.e)), generated);
}

Value sumError(Builder &b, ArrayRef<Value> state, const SumUnit &unit) {
  ErrorMath m(b, state[0]);
  bool wide = unit.step < 0x1p-50;
  // (of no terms there is nothing to round)
  Value some = m.less(m.zero(), state[3]), steps = m.select(some, m.add(state[3], m.constant(2)), m.zero());
  Value reach = m.add(state[2], state[1]);
  // In any order, a partial sum adds up some of the terms. Its magnitude is at most the sum of the positive terms, or of the negative ones:
  // (sum of magnitudes + |sum|) / 2. The rounded partial sum is off by the roundings before it, n u of that bound.
  Value partial = m.add(m.mul(m.constant(0.5), m.add(state[2], m.abs(state[0]))), state[1]);
  Value room = m.sub(m.constant(1), m.mul(steps, m.constant(unit.step)));
  Value step = m.select(m.less(m.constant(0.5), room), m.div(partial, room), reach);
  Value terms = m.mul(m.constant(unit.step), reach); // products are rounded before they are added
  Value rounding = m.add(
      m.mul(steps, m.add(m.mul(m.constant(unit.step), unit.inParts ? reach : m.min(step, reach)), m.constant(wide ? 0x1p-1074 : 0x1p-149))),
      terms);
  Value bound = m.add(state[1], rounding);
  if (unit.inParts) { // the unit cuts what it adds, until the sum leaves it
    Value cuts = m.min(steps, m.constant(unit.kept + 2));
    bound = m.add(bound, m.mul(cuts, m.mul(m.constant(SumUnit::kCut), reach)));
  }
  if (unit.few) {
    constexpr double perInstruction = SumUnit::kProducts + 2;
    // One instruction more than its products fill: the last may be half empty.
    Value cuts = m.add(m.mul(state[3], m.constant(perInstruction / SumUnit::kProducts)), m.constant(perInstruction));
    if (!unit.fast)
      cuts = m.min(cuts, m.constant(SumUnit::kKept / SumUnit::kProducts * perInstruction));
    bound = m.add(bound, m.mul(cuts, m.mul(m.constant(SumUnit::kFew), reach)));
  }
  // Some order may overflow on the way.
  double largest = wide ? std::numeric_limits<double>::max() : 0x1.fffffep127;
  Value overflows = arith::AndIOp::create(b, m.less(m.constant(largest), m.add(partial, bound)), m.isFinite(state[0]));
  Value zeros = m.cmp(arith::CmpFPredicate::OEQ, reach, m.zero()); // which add up exactly
  Value rounded = m.select(zeros, m.zero(), m.select(overflows, m.infinity(), m.rounded(bound, state[0], 0, 0, largest)));
  return m.select(m.isFinite(state[0]), rounded, specialSumError(b, state[0], state[1], state[2], largest, unit.ofElements));
}

Value extremeError(Builder &b, ArrayRef<Value> state) {
  ErrorMath m(b, state[0]);
  Value reach = m.max(difference(b, state[2], state[0]), difference(b, state[0], state[1]));
  Value surelyNan = arith::AndIOp::create(b, m.isNan(state[1]), m.isNan(state[2]));
  return m.select(surelyNan, m.zero(), reach);
}

/// The interval of a max or min: terms that surely count move both ends, those that
/// may count one.
static SmallVector<Value> addExtreme(Builder &b, bool isMax, ArrayRef<Value> state, Value v, Value e, Value condition, Value unsure,
                                     llvm::function_ref<Value(Value, Value)> combine) {
  ErrorMath m(b, v);
  Value least = v, greatest = v;
  if (e) { // a NaN that is not sure must not look like one that is
    Value unknown = m.cmp(arith::CmpFPredicate::UGE, e, m.infinity());
    least = m.select(unknown, m.constant(-std::numeric_limits<double>::infinity()), m.sub(v, e));
    greatest = m.select(unknown, m.infinity(), m.add(v, e));
  }
  SmallVector<Value> next = {combine(state[0], v), combine(state[1], least), combine(state[2], greatest)};
  if (!condition)
    return next;
  Value sure = condition, possible = condition;
  if (unsure) {
    possible = arith::OrIOp::create(b, condition, unsure);
    sure = arith::AndIOp::create(b, condition, arith::XOrIOp::create(b, unsure, constInt(b, unsure.getType(), 1)));
  }
  // Counting raises a max's and lowers a min's interval.
  Value low = isMax ? sure : possible, high = isMax ? possible : sure;
  return {m.select(condition, next[0], state[0]), m.select(low, next[1], state[1]), m.select(high, next[2], state[2])};
}

/// The same of booleans, whose error is whether they may be the other one.
static SmallVector<Value> addBool(Builder &b, te::Combiner kind, ArrayRef<Value> state, Value next, Value v, Value te, Value condition,
                                  Value unsure) {
  Value e = orMaybe(b, state[1], te);
  if (kind == te::Combiner::Any || kind == te::Combiner::All) {
    Value one = constInt(b, v.getType(), 1);
    auto deciding = [&](Value x, Value e) -> Value {
      Value d = kind == te::Combiner::Any ? x : Value(arith::XOrIOp::create(b, x, one));
      return e ? Value(arith::AndIOp::create(b, d, arith::XOrIOp::create(b, e, one))) : d;
    };
    Value decided = arith::OrIOp::create(b, deciding(state[0], state[1]), deciding(v, te));
    e = arith::SelectOp::create(b, decided, constInt(b, v.getType(), 0), e);
  }
  SmallVector<Value> result = {next, e};
  if (condition)
    result = {arith::SelectOp::create(b, condition, next, state[0]), arith::SelectOp::create(b, condition, e, state[1])};
  if (unsure) // taken or not
    result[1] = arith::OrIOp::create(
        b, result[1], arith::AndIOp::create(b, unsure, orMaybe(b, arith::OrIOp::create(b, e, state[1]), difference(b, next, state[0]))));
  return result;
}

SmallVector<Value> addWithError(Builder &b, te::Combiner kind, ArrayRef<Value> state, const Term &term, bool isFloat, const SumUnit &unit,
                                llvm::function_ref<Value(Value, Value)> combine) {
  int64_t lanes = lanesOf(state[0]);
  auto wide = [&](Value v) { return v ? splat(b, v, lanes) : v; };
  Value v = wide(term.value.v), te = wide(term.value.e), condition = wide(term.condition.v), unsure = wide(term.condition.e);
  Value next = combine(state[0], v);
  if (isBool(v))
    return addBool(b, kind, state, next, v, te, condition, unsure);
  if (isFloat && (kind == te::Combiner::Max || kind == te::Combiner::Min))
    return addExtreme(b, kind == te::Combiner::Max, state, v, te, condition, unsure, combine);
  ErrorMath m(b, v);
  te = asF64(b, te);
  SmallVector<Value> result = {next};
  bool sum = isFloat && kind == te::Combiner::Sum;
  if (sum) {
    SumTerm t = sumTerm(b, v, te);
    result.append({m.addMaybe(state[1], t.propagated), m.add(state[2], t.magnitude), m.add(state[3], m.constant(1))});
  } else if (kind == te::Combiner::Max || kind == te::Combiner::Min) {
    result.push_back(m.maxMaybe(state[1], te));
  } else if (kind == te::Combiner::Sum) {
    result.push_back(m.addMaybe(state[1], te));
  } else if (isFloat) { // prod
    Value p = m.clean(m.product(state[0], state[1], v, te), m.addMaybe(state[1], te));
    p = m.rounded(p, next, unit.step, 0x1p-149, unit.step > 0x1p-50 ? 0x1.fffffep127 : std::numeric_limits<double>::max());
    result.push_back(specialProductError(b, {state[0], state[1], {}}, {v, te, {}}, next, p));
  } else {
    Value any = isUncertain(b, m.addMaybe(state[1], te));
    result.push_back(m.select(any, m.infinity(), m.zero()));
  }
  if (!condition)
    return result;
  SmallVector<Value> taken = result;
  for (auto [r, old] : llvm::zip(result, state))
    r = arith::SelectOp::create(b, condition, r, old);
  if (!unsure)
    return result;
  if (sum) {
    Value finite = m.isFinite(v), size = m.select(finite, m.addMaybe(m.abs(v), te), m.infinity());
    result[1] = m.select(unsure, m.add(state[1], size), result[1]);
    result[2] = m.select(unsure, m.select(finite, taken[2], state[2]), result[2]);
    result[3] = m.select(unsure, taken[3], result[3]);
  } else {
    Value either = m.add(difference(b, next, state[0]), m.maxMaybe(taken[1], state[1]));
    result[1] = m.select(unsure, either, result[1]);
  }
  return result;
}

/// A key as f64 that grows towards the winner.
static Value rising(Builder &b, te::Combiner kind, Value key) {
  Type f64 = b.getF64Type();
  bool isUnsigned = kind == te::Combiner::ArgMaxU || kind == te::Combiner::ArgMinU;
  if (!key.getType().isF64())
    key = isUnsigned ? Value(arith::UIToFPOp::create(b, f64, key)) : Value(arith::SIToFPOp::create(b, f64, key));
  bool isMin = kind == te::Combiner::ArgMin || kind == te::Combiner::ArgMinU;
  return isMin ? Value(arith::NegFOp::create(b, key)) : key;
}

SmallVector<Value> addArgError(Builder &b, te::Combiner kind, ArrayRef<Value> state, const Term &term, Value take) {
  ErrorMath m(b, state[3]);
  Value e = term.value.e ? asF64(b, term.value.e) : m.zero();
  Value counted = term.condition.v ? term.condition.v : constInt(b, b.getI1Type(), 1);
  if (term.condition.e) {
    e = m.select(term.condition.e, m.infinity(), e);
    counted = arith::OrIOp::create(b, counted, term.condition.e);
  }
  Value old = m.add(rising(b, kind, state[0]), state[3]), fresh = m.add(rising(b, kind, term.value.v), e);
  // The loser of this step competes with the other losers; before the first there is none.
  Value hasOld = state[2], minus = m.constant(-std::numeric_limits<double>::infinity());
  Value loser = m.select(take, m.select(hasOld, old, minus), m.select(counted, fresh, minus));
  return {m.select(take, e, state[3]), m.max(state[4], loser), m.max(state[5], m.select(counted, e, m.zero()))};
}

Value argError(Builder &b, te::Combiner kind, ArrayRef<Value> state) {
  ErrorMath m(b, state[3]);
  Value inexact = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, state[5], m.zero());
  Value least = m.sub(rising(b, kind, state[0]), state[3]);
  // Unordered: NaN keys decide nothing here.
  Value close = arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, state[4], least);
  return m.select(arith::AndIOp::create(b, inexact, close), m.infinity(), m.zero());
}

} // namespace kernelc::reference

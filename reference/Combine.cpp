// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Combine.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/te/Combiners.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/ErrorRules.h"
#include "reference/NarrowFloats.h"
#include "reference/SpecialErrors.h"

using namespace mlir;

namespace kernelc::reference {

using te::Combiner;

Accumulator::Accumulator(te::ReduceOp op, FunctionEnv &env, bool inLoop)
    : Accumulator(op.getKind(), op.getYield().getValues()[0].getType(), env) {
  inLoop_ = inLoop;
  takesFactors_ = kind_ == Combiner::Sum && isFloat_ && computed_ == env.valueType(yielded_);
  unit_ = isFloat_ ? sumUnit(op) : SumUnit();
  unit_.ofElements = withError_ && kind_ == Combiner::Sum && isSumOfElements(op);
}

Accumulator::Accumulator(Combiner kind, Type yielded, FunctionEnv &env)
    : kind_(kind), env_(env), yielded_(yielded), inLoop_(false), takesFactors_(false), isFloat_(isa<FloatType>(yielded)),
      isArg_(te::isArg(kind)), withError_(env.withError()), unit_{yielded.isF64() ? 0x1p-52 : 0x1p-24} {
  Type f32 = Float32Type::get(yielded.getContext());
  computed_ = isFloat_ && !env.isF64() && isNarrowFloat(yielded_) ? f32 : env.valueType(yielded_);
}

static bool isMax(Combiner k) { return k == Combiner::Max || k == Combiner::MaxU || k == Combiner::ArgMax || k == Combiner::ArgMaxU; }
static bool isUnsignedKind(Combiner k) {
  return k == Combiner::MaxU || k == Combiner::MinU || k == Combiner::ArgMaxU || k == Combiner::ArgMinU;
}

static double floatIdentity(Combiner k) {
  switch (k) {
  case Combiner::Sum: return 0;
  case Combiner::Prod: return 1;
  default: return isMax(k) ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
}

static APInt integerIdentity(Combiner k, unsigned width) {
  switch (k) {
  case Combiner::Prod: return APInt(width, 1);
  case Combiner::All:
  case Combiner::And: return APInt::getAllOnes(width);
  case Combiner::Max:
  case Combiner::ArgMax: return APInt::getSignedMinValue(width);
  case Combiner::Min:
  case Combiner::ArgMin: return APInt::getSignedMaxValue(width);
  case Combiner::MinU:
  case Combiner::ArgMinU: return APInt::getAllOnes(width);
  default: return APInt::getZero(width);
  }
}

Value Accumulator::identity(Builder &b, Type type) const {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return constFloat(b, type, floatIdentity(kind_));
  return constInt(b, type, integerIdentity(kind_, element.getIntOrFloatBitWidth()).getSExtValue());
}

std::array<uint8_t, 8> Accumulator::identityBytes() const {
  uint64_t bits;
  if (isArg_)
    bits = ~uint64_t(0); // no position
  else if (!isFloat_)
    bits = integerIdentity(kind_, yielded_.getIntOrFloatBitWidth()).getZExtValue();
  else if (env_.isF64())
    bits = std::bit_cast<uint64_t>(floatIdentity(kind_));
  else {
    APFloat v(floatIdentity(kind_));
    bool lost;
    v.convert(cast<FloatType>(yielded_).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    bits = v.bitcastToAPInt().getZExtValue();
  }
  return std::bit_cast<std::array<uint8_t, 8>>(bits);
}

unsigned Accumulator::stateSize() const {
  if (isArg_)
    return withError_ ? 6 : 3;
  if (!withError_)
    return 1;
  if (isFloat_ && kind_ == Combiner::Sum)
    return 4;
  return isFloat_ && (kind_ == Combiner::Max || kind_ == Combiner::Min) ? 3 : 2;
}

SmallVector<Value> Accumulator::begin(Builder &b, int64_t lanes, const Scalar *start) {
  auto shaped = [&](Type t) { return lanes == 1 ? t : Type(VectorType::get({lanes}, t)); };
  Type f64 = shaped(b.getF64Type());
  if (isArg_) {
    SmallVector<Value> state = {identity(b, computed_), constI64(b, -1), constInt(b, b.getI1Type(), 0)};
    if (withError_) {
      Value none = constFloat(b, b.getF64Type(), 0);
      state.append({none, constFloat(b, b.getF64Type(), -std::numeric_limits<double>::infinity()), none});
    }
    return state;
  }
  Value first = identity(b, shaped(computed_));
  if (start)
    first = isFloat_ && !env_.isF64() ? widenFloat(b, start->v, yielded_, computed_) : start->v;
  SmallVector<Value> state = {first};
  if (!withError_)
    return state;
  Type errorType = yielded_.isInteger(1) ? shaped(b.getI1Type()) : f64;
  if (stateSize() == 3) {
    Value reach = start && start->e ? start->e : constFloat(b, f64, 0);
    state.push_back(start ? Value(arith::SubFOp::create(b, first, reach)) : first);
    state.push_back(start ? Value(arith::AddFOp::create(b, first, reach)) : first);
    return state;
  }
  Value zero = errorType == f64 ? constFloat(b, f64, 0) : constInt(b, errorType, 0);
  if (stateSize() == 4) {
    SumTerm term = start ? sumTerm(b, first, start->e) : SumTerm{zero, zero};
    state.append({term.propagated ? term.propagated : zero, term.magnitude, constFloat(b, f64, start ? 1 : 0)});
    return state;
  }
  state.push_back(start && start->e ? start->e : zero);
  return state;
}

Value Accumulator::combine(Builder &b, Value x, Value y) {
  auto flags = inLoop_ ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
  switch (kind_) {
  case Combiner::Sum: return isFloat_ ? Value(arith::AddFOp::create(b, x, y, flags)) : Value(arith::AddIOp::create(b, x, y));
  case Combiner::Prod: return isFloat_ ? Value(arith::MulFOp::create(b, x, y, flags)) : Value(arith::MulIOp::create(b, x, y));
  case Combiner::Max: return isFloat_ ? Value(arith::MaximumFOp::create(b, x, y)) : Value(arith::MaxSIOp::create(b, x, y));
  case Combiner::Min: return isFloat_ ? Value(arith::MinimumFOp::create(b, x, y)) : Value(arith::MinSIOp::create(b, x, y));
  case Combiner::MaxU: return arith::MaxUIOp::create(b, x, y);
  case Combiner::MinU: return arith::MinUIOp::create(b, x, y);
  case Combiner::Any:
  case Combiner::Or: return arith::OrIOp::create(b, x, y);
  case Combiner::All:
  case Combiner::And: return arith::AndIOp::create(b, x, y);
  case Combiner::Xor: return arith::XOrIOp::create(b, x, y);
  default: llvm_unreachable("arg reductions have their own step");
  }
}

SmallVector<Value> Accumulator::addArg(Builder &b, ArrayRef<Value> state, const Term &term) {
  Value key = term.value.v;
  if (isFloat_ && !env_.isF64())
    key = widenFloat(b, key, yielded_, computed_);
  Value better, first = term.isBefore ? key : state[0], second = term.isBefore ? state[0] : key;
  if (isFloat_) {
    // NaN is the largest: it wins in argmax and, as the smallest never, loses in argmin.
    Value keyNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, second, second);
    Value oldNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, first, first);
    Value strict = arith::CmpFOp::create(b, isMax(kind_) ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, second, first);
    Value fresh = isMax(kind_) ? keyNan : oldNan, stale = isMax(kind_) ? oldNan : keyNan;
    Value notStale = arith::XOrIOp::create(b, stale, constInt(b, b.getI1Type(), 1));
    better = arith::OrIOp::create(b, strict, arith::AndIOp::create(b, fresh, notStale));
  } else {
    auto p = isUnsignedKind(kind_) ? (isMax(kind_) ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::ult)
                                   : (isMax(kind_) ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt);
    better = arith::CmpIOp::create(b, p, second, first);
  }
  if (term.isBefore) // unless one that is there is better
    better = arith::XOrIOp::create(b, better, constInt(b, b.getI1Type(), 1));
  Value none = arith::XOrIOp::create(b, state[2], constInt(b, b.getI1Type(), 1));
  Value take = arith::OrIOp::create(b, none, better);
  if (term.condition.v)
    take = arith::AndIOp::create(b, take, term.condition.v);
  Value has = term.condition.v ? Value(arith::OrIOp::create(b, state[2], term.condition.v)) : constInt(b, b.getI1Type(), 1);
  SmallVector<Value> next = {arith::SelectOp::create(b, take, key, state[0]), arith::SelectOp::create(b, take, term.index, state[1]), has};
  if (withError_)
    next.append(addArgError(b, kind_, state, term, take));
  return next;
}

/// The product as a term whose own rounding sumError counts.
static Term multiplied(Builder &b, const Term &term, const SumUnit &unit) {
  Value v[] = {term.factor0.v, term.factor1.v};
  unifyLanes(b, v);
  Term result = term;
  result.value.v = arith::MulFOp::create(b, v[0], v[1]);
  result.value.e = productError(b, term.factor0, term.factor1, result.value.v, unit.ofElements ? 0 : kAsWritten);
  return result;
}

SmallVector<Value> Accumulator::add(Builder &b, ArrayRef<Value> state, const Term &term) {
  if (isArg_)
    return addArg(b, state, term);
  int64_t lanes = lanesOf(state[0]);
  auto wide = [&](Value v) { return v ? splat(b, v, lanes) : v; };
  if (withError_)
    return addWithError(b, kind_, state, term.factor0.v ? multiplied(b, term, unit_) : term, isFloat_, unit_,
                        [&](Value x, Value y) { return combine(b, x, y); });
  Value next;
  if (term.factor0.v) {
    Value x = wide(term.factor0.v), y = wide(term.factor1.v);
    if (inLoop_) // the intrinsic that LLVM knows as a reduction; an fma where the host has one
      next = LLVM::FMulAddOp::create(b, x.getType(), x, y, state[0], LLVM::FastmathFlags::reassoc | LLVM::FastmathFlags::contract);
    else
      next = math::FmaOp::create(b, x, y, state[0]);
  } else {
    Value v = wide(term.value.v);
    if (isFloat_ && !env_.isF64())
      v = widenFloat(b, v, yielded_, computed_);
    next = combine(b, state[0], v);
  }
  if (term.condition.v)
    next = arith::SelectOp::create(b, wide(term.condition.v), next, state[0]);
  return {next};
}

Scalar Accumulator::finish(Builder &b, ArrayRef<Value> state) {
  if (isArg_)
    return {state[1], withError_ ? argError(b, kind_, state) : Value()};
  Scalar r{state[0]};
  if (isFloat_ && !env_.isF64())
    r.v = narrowFloat(b, r.v, yielded_);
  if (withError_)
    r.e = stateSize() == 4 ? sumError(b, state, unit_) : stateSize() == 3 ? extremeError(b, state) : state[1];
  return r;
}

} // namespace kernelc::reference

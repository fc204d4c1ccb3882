// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bodies of domain ops: constants, arithmetic, conversions, math. See Emit.h.
#include "frontend/Emit.h"

#include <cmath>

#include "frontend/Rounding.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {

Value RegionEmitter::constant(double f, int64_t i, Type type, Location loc) {
  if (type.isIndex())
    return arith::ConstantIndexOp::create(builder, loc, i);
  if (auto t = dyn_cast<IntegerType>(type))
    return arith::ConstantOp::create(builder, loc, IntegerAttr::get(t, APInt(64, uint64_t(i)).trunc(t.getWidth())));
  auto t = cast<FloatType>(type);
  APFloat v = roundTo(t, f);
  if (std::string loss = describeLoss(t, f, v); !loss.empty())
    mlir::emitWarning(loc) << loss;
  return arith::ConstantOp::create(builder, loc, FloatAttr::get(t, v));
}

Value RegionEmitter::emitStored(Node *n, ElementType element) {
  Location loc = parent.location(n->loc);
  Type type = parent.storageType(element);
  if (n->isConst())
    return constant(n->kind == Node::ConstFloat ? n->floatValue : double(n->intValue), n->intValue, type, loc);
  if (n->kind == Node::Cast && n->castTo == element && !(n->pureIndex && n->type == Ty::I64))
    return emitNarrow(emit(n->ops[0]), n->ops[0]->type, element, loc);
  // A value read from the same narrow type needs no round trip.
  if (n->kind == Node::Read && n->tensor->element == element && widened(element) == n->type) {
    Value v = emit(n);
    if (Operation *def = v.getDefiningOp(); def && v.getType() != type)
      return def->getOperand(0);
    return v;
  }
  return emitNarrow(emit(n), n->type, element, loc);
}

Value RegionEmitter::emitConverted(Value v, ElementType from, ElementType to, Location loc) {
  if (from == to)
    return v;
  if (to == ElementType::boolean)
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, v, constant(0, 0, v.getType(), loc));
  Ty wide = widened(from);
  return emitNarrow(emitWiden(v, from, wide, loc), wide, to, loc);
}

/// `v` of wide type `from`, rounded, truncated or saturated into `to`.
Value RegionEmitter::emitNarrow(Value v, Ty from, ElementType to, Location loc) {
  Type type = parent.storageType(to);
  if (v.getType() == type)
    return v;
  bool f8 = to == ElementType::f8e4m3 || to == ElementType::f8e5m2;
  if (isFloat(from)) {
    if (!kernelc::isFloat(to))
      return te::ConvertOp::create(builder, loc, type, v, isUnsignedInteger(to) ? builder.getUnitAttr() : UnitAttr());
    if (f8)
      return te::ConvertOp::create(builder, loc, type, v, UnitAttr());
    if (type.getIntOrFloatBitWidth() < v.getType().getIntOrFloatBitWidth())
      return arith::TruncFOp::create(builder, loc, type, v);
    return arith::ExtFOp::create(builder, loc, type, v);
  }
  bool isUnsigned = frontend::isUnsigned(from) || from == Ty::Bool;
  if (kernelc::isFloat(to)) {
    // Through f64 an f8 is rounded twice only where the first rounding is exact.
    Type wide = f8 ? builder.getF64Type() : type;
    Value w = isUnsigned ? arith::UIToFPOp::create(builder, loc, wide, v).getResult()
                         : arith::SIToFPOp::create(builder, loc, wide, v).getResult();
    return f8 ? te::ConvertOp::create(builder, loc, type, w, UnitAttr()).getResult() : w;
  }
  unsigned have = v.getType().getIntOrFloatBitWidth(), want = type.getIntOrFloatBitWidth();
  if (want < have)
    return arith::TruncIOp::create(builder, loc, type, v);
  if (isUnsigned)
    return arith::ExtUIOp::create(builder, loc, type, v);
  return arith::ExtSIOp::create(builder, loc, type, v);
}

/// A stored value as it is computed with.
Value RegionEmitter::emitWiden(Value v, ElementType from, Ty to, Location loc) {
  Type type = parent.valueType(to);
  if (v.getType() == type)
    return v;
  if (kernelc::isFloat(from))
    return arith::ExtFOp::create(builder, loc, type, v);
  if (isSignedInteger(from))
    return arith::ExtSIOp::create(builder, loc, type, v);
  return arith::ExtUIOp::create(builder, loc, type, v);
}

Value RegionEmitter::emitCompare(Node *n, Value a, Value b) {
  Location loc = parent.location(n->loc);
  using P = arith::CmpIPredicate;
  P p = n->predicate;
  if (isFloat(n->ops[0]->type)) {
    using F = arith::CmpFPredicate;
    F f = p == P::eq ? F::OEQ : p == P::ne ? F::UNE : p == P::slt ? F::OLT : p == P::sle ? F::OLE : p == P::sgt ? F::OGT : F::OGE;
    return arith::CmpFOp::create(builder, loc, f, a, b);
  }
  if (isUnsigned(n->ops[0]->type))
    p = p == P::slt ? P::ult : p == P::sle ? P::ule : p == P::sgt ? P::ugt : p == P::sge ? P::uge : p;
  return arith::CmpIOp::create(builder, loc, p, a, b);
}

/// Python's: with the sign of the divisor, a zero too.
Value RegionEmitter::emitFloatModulo(Node *n, Value a, Value b) {
  Location loc = parent.location(n->loc);
  using F = arith::CmpFPredicate;
  Value r = arith::RemFOp::create(builder, loc, a, b), zero = constant(0, 0, a.getType(), loc);
  Value rNeg = arith::CmpFOp::create(builder, loc, F::OLT, r, zero), bNeg = arith::CmpFOp::create(builder, loc, F::OLT, b, zero);
  Value differ = arith::XOrIOp::create(builder, loc, rNeg, bNeg);
  Value nonzero = arith::SelectOp::create(builder, loc, differ, arith::AddFOp::create(builder, loc, r, b), r);
  Value isZero = arith::CmpFOp::create(builder, loc, F::OEQ, r, zero);
  Node *divisor = n->ops[1];
  Value signedZero = divisor->kind == Node::ConstFloat ? constant(std::copysign(0.0, divisor->floatValue), 0, a.getType(), loc)
                                                       : math::CopySignOp::create(builder, loc, zero, b).getResult();
  return arith::SelectOp::create(builder, loc, isZero, signedZero, nonzero);
}

Value RegionEmitter::emitBinary(Node *n, Value a, Value b) {
  Location loc = parent.location(n->loc);
  bool f = isFloat(n->type), u = isUnsigned(n->type);
  switch (n->kind) {
  case Node::Add: return f ? arith::AddFOp::create(builder, loc, a, b).getResult() : arith::AddIOp::create(builder, loc, a, b).getResult();
  case Node::Sub: return f ? arith::SubFOp::create(builder, loc, a, b).getResult() : arith::SubIOp::create(builder, loc, a, b).getResult();
  case Node::Mul: return f ? arith::MulFOp::create(builder, loc, a, b).getResult() : arith::MulIOp::create(builder, loc, a, b).getResult();
  case Node::Div: return arith::DivFOp::create(builder, loc, a, b);
  case Node::FloorDiv:
  case Node::Mod: {
    bool mod = n->kind == Node::Mod;
    if (!f)
      return emitDivision(mod, a, b, u, loc);
    Value q = math::FloorOp::create(builder, loc, arith::DivFOp::create(builder, loc, a, b));
    if (!mod)
      return q;
    return emitFloatModulo(n, a, b);
  }
  case Node::BitAnd: return arith::AndIOp::create(builder, loc, a, b);
  case Node::BitOr: return arith::OrIOp::create(builder, loc, a, b);
  case Node::BitXor: return arith::XOrIOp::create(builder, loc, a, b);
  case Node::Shl:
  case Node::Shr: {
    int64_t width = a.getType().getIntOrFloatBitWidth();
    Value count;
    if (n->ops[1]->kind == Node::ConstInt)
      count = constant(0, n->ops[1]->intValue & (width - 1), a.getType(), loc);
    else
      count = arith::AndIOp::create(builder, loc, b, constant(0, width - 1, a.getType(), loc));
    if (n->kind == Node::Shl)
      return arith::ShLIOp::create(builder, loc, a, count);
    return u ? arith::ShRUIOp::create(builder, loc, a, count).getResult() : arith::ShRSIOp::create(builder, loc, a, count).getResult();
  }
  case Node::Min:
    return f   ? arith::MinimumFOp::create(builder, loc, a, b).getResult()
           : u ? arith::MinUIOp::create(builder, loc, a, b).getResult()
               : arith::MinSIOp::create(builder, loc, a, b).getResult();
  case Node::Max:
    return f   ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
           : u ? arith::MaxUIOp::create(builder, loc, a, b).getResult()
               : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  case Node::Pow: return math::PowFOp::create(builder, loc, a, b);
  default: llvm_unreachable("not a binary operator");
  }
}

namespace {
template <typename OpT> Value unary(OpBuilder &b, Location loc, ArrayRef<Value> ops) { return OpT::create(b, loc, ops[0]); }
template <typename OpT> Value binary(OpBuilder &b, Location loc, ArrayRef<Value> ops) { return OpT::create(b, loc, ops[0], ops[1]); }
using Make = Value (*)(OpBuilder &, Location, ArrayRef<Value>);
struct MathEntry {
  StringRef name;
  Make make;
};
constexpr MathEntry kMath[] = {
    {"exp", unary<math::ExpOp>},        {"exp2", unary<math::Exp2Op>},
    {"expm1", unary<math::ExpM1Op>},    {"log", unary<math::LogOp>},
    {"log2", unary<math::Log2Op>},      {"log10", unary<math::Log10Op>},
    {"log1p", unary<math::Log1pOp>},    {"sqrt", unary<math::SqrtOp>},
    {"rsqrt", unary<math::RsqrtOp>},    {"cbrt", unary<math::CbrtOp>},
    {"sin", unary<math::SinOp>},        {"cos", unary<math::CosOp>},
    {"tan", unary<math::TanOp>},        {"asin", unary<math::AsinOp>},
    {"acos", unary<math::AcosOp>},      {"atan", unary<math::AtanOp>},
    {"sinh", unary<math::SinhOp>},      {"cosh", unary<math::CoshOp>},
    {"tanh", unary<math::TanhOp>},      {"asinh", unary<math::AsinhOp>},
    {"acosh", unary<math::AcoshOp>},    {"atanh", unary<math::AtanhOp>},
    {"erf", unary<math::ErfOp>},        {"erfc", unary<math::ErfcOp>},
    {"floor", unary<math::FloorOp>},    {"ceil", unary<math::CeilOp>},
    {"round", unary<math::RoundOp>},    {"rint", unary<math::RoundEvenOp>},
    {"trunc", unary<math::TruncOp>},    {"abs", unary<math::AbsFOp>},
    {"fabs", unary<math::AbsFOp>},      {"isnan", unary<math::IsNaNOp>},
    {"isinf", unary<math::IsInfOp>},    {"isfinite", unary<math::IsFiniteOp>},
    {"popcount", unary<math::CtPopOp>}, {"pow", binary<math::PowFOp>},
    {"atan2", binary<math::Atan2Op>},   {"copysign", binary<math::CopySignOp>},
    {"fmod", binary<arith::RemFOp>},
};
} // namespace

Value RegionEmitter::emitMath(Node *n, ArrayRef<Value> ops) {
  Location loc = parent.location(n->loc);
  if (n->callee == "fma")
    return math::FmaOp::create(builder, loc, ops[0], ops[1], ops[2]);
  if (n->callee == "abs" && !isFloat(n->type))
    return isUnsigned(n->type) ? ops[0] : math::AbsIOp::create(builder, loc, ops[0]).getResult();
  for (const MathEntry &m : kMath)
    if (m.name == n->callee)
      return m.make(builder, loc, ops);
  llvm_unreachable("a math function without an op");
}

} // namespace kernelc::frontend

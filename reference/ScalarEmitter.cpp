// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ScalarEmitter.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/te/Hints.h"
#include "ir/te/Precision.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/ErrorRules.h"
#include "reference/MathLibrary.h"
#include "reference/NarrowFloats.h"
#include "reference/SpecialErrors.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::reference {

std::string locationText(Location loc) {
  std::string text;
  loc->walk([&](Location l) {
    auto file = dyn_cast<FileLineColLoc>(l);
    if (!file)
      return WalkResult::advance();
    text = absl::StrCat(file.getFilename().str(), ":", file.getLine(), ":", file.getColumn());
    return WalkResult::interrupt();
  });
  return text;
}

absl::Status unsupported(Operation *op, StringRef why) {
  std::string at = locationText(op->getLoc());
  return absl::UnimplementedError(absl::StrCat(at, at.empty() ? "" : ": ", "the reference does not support '",
                                               op->getName().getStringRef().str(), "'", why.empty() ? "" : ": ", why.str()));
}

absl::Status ScalarEmitter::emit(Block &block) {
  for (Operation &op : block.without_terminator())
    if (absl::Status s = emitOp(&op); !s.ok())
      return s;
  return absl::OkStatus();
}

absl::StatusOr<Scalar> ScalarEmitter::lookup(Value v) {
  if (auto it = map_.find(v); it != map_.end())
    return it->second;
  if (auto slot = env.slotOf.find(v); slot != env.slotOf.end()) {
    // A scalar parameter: rank 0 memory, loaded where it is first used.
    Scalar s = load(slot->second, v.getType(), {});
    return s;
  }
  Operation *def = v.getDefiningOp();
  if (!def || !isa<te::KernelOp>(def->getParentOp()))
    return absl::InternalError("a body refers to a value that nothing defines");
  // A constant or other scalar that was hoisted out of the body.
  if (absl::Status s = emitOp(def); !s.ok())
    return s;
  return map_[v];
}

absl::Status ScalarEmitter::emitOp(Operation *op) {
  b.setLoc(op->getLoc());
  auto one = [&](absl::StatusOr<Scalar> s) {
    if (s.ok())
      map_[op->getResult(0)] = *s;
    return s.status();
  };
  if (auto read = dyn_cast<te::ReadOp>(op))
    return one(emitRead(read));
  if (auto size = dyn_cast<te::SizeOp>(op))
    return one(Scalar{env.sizeExpr(size.getMap().getResult(0))});
  if (auto convert = dyn_cast<te::ConvertOp>(op))
    return one(emitConvert(convert));
  if (auto round = dyn_cast<te::RoundOp>(op))
    return one(emitRound(round));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return one(emitConstant(constant));
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect != "arith" && dialect != "math") || op->getNumRegions())
    return unsupported(op);
  SmallVector<Scalar> operands;
  for (Value v : op->getOperands()) {
    auto s = lookup(v);
    if (!s.ok())
      return s.status();
    operands.push_back(*s);
  }
  return emitGeneric(op, operands);
}

absl::StatusOr<Scalar> ScalarEmitter::emitConstant(arith::ConstantOp op) { return constant(op.getValue(), op); }

absl::StatusOr<Scalar> ScalarEmitter::constant(TypedAttr value, Operation *op) {
  if (auto f = dyn_cast<FloatAttr>(value)) {
    if (env.isF64())
      return Scalar{constFloat(b, b.getF64Type(), f.getValueAsDouble())};
    Type carrier = carrierType(f.getType());
    if (carrier == f.getType())
      return Scalar{arith::ConstantOp::create(b, value)};
    return Scalar{constInt(b, carrier, int64_t(f.getValue().bitcastToAPInt().getZExtValue()))};
  }
  if (auto i = dyn_cast<IntegerAttr>(value))
    return Scalar{arith::ConstantOp::create(b, b.getIntegerAttr(env.valueType(i.getType()), i.getValue()))};
  return unsupported(op, "only scalar constants");
}

Scalar ScalarEmitter::widen(Scalar s, Type type) {
  if (env.isF64() || !isNarrowFloat(type))
    return s;
  s.v = widenFloat(b, s.v, type, b.getF32Type());
  return s;
}

Scalar ScalarEmitter::castFloat(Scalar s, Type from, Type to, bool saturate, bool highPart, bool stored) {
  if (!env.isF64()) {
    Value wide = isNarrowFloat(from) ? widenFloat(b, s.v, from, b.getF32Type()) : s.v;
    Type wideType = getElementTypeOrSelf(wide.getType());
    if (isNarrowFloat(to) || (to.isF32() && wideType.isF64()))
      s.v = narrowFloat(b, wide, to);
    else
      s.v = widenFloat(b, wide, wideType, to);
    return s;
  }
  FloatFacts facts = floatFacts(to);
  if (saturate || facts.saturates) {
    Value high = constFloat(b, s.v.getType(), facts.largest), low = constFloat(b, s.v.getType(), -facts.largest);
    // maximum and minimum keep NaN.
    s.v = arith::MaximumFOp::create(b, arith::MinimumFOp::create(b, s.v, high), low);
  }
  if (!env.withError() || facts.unitRoundoff <= floatFacts(from).unitRoundoff)
    return s;
  Value e = roundingError(b, s, to, highPart);
  if (stored && !saturate && !facts.saturates)
    return overflowed(b, s, e, to);
  s.e = e;
  return s;
}

Scalar ScalarEmitter::toInteger(Scalar s, Type from, Type to, bool toUnsigned) {
  Scalar wide = widen(s, from);
  Type type = shapedLike(env.valueType(to), wide.v.getType());
  Scalar r = wide;
  // Truncates, saturates, NaN gives 0: the language's definition.
  r.v = callIntrinsic(b, toUnsigned ? "llvm.fptoui.sat" : "llvm.fptosi.sat", type, wide.v);
  if (env.withError())
    r.e = integerCastError(b, wide, toUnsigned);
  return r;
}

/// `v` of 64 bits as a number that f64 holds: what it lacks of those beyond 2^53 is one bit that says whether they lie
/// between two of its multiples of 2^12, so that a second, narrower rounding is right.
static Value roundedToOdd(Builder &b, Value v, bool isUnsigned) {
  auto number = [&](int64_t n) { return constInt(b, v.getType(), n); };
  constexpr int64_t kExact = int64_t(1) << 53, kUnit = 1 << 12;
  Value low = arith::AndIOp::create(b, v, number(kUnit - 1));
  Value between = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, low, number(0));
  Value kept = arith::AndIOp::create(b, v, number(-kUnit));
  Value odd = arith::OrIOp::create(b, kept, arith::SelectOp::create(b, between, number(kUnit / 2), number(0)));
  Value fromLowest = isUnsigned ? v : Value(arith::AddIOp::create(b, v, number(kExact)));
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, fromLowest, number(isUnsigned ? kExact : 2 * kExact));
  return arith::SelectOp::create(b, fits, v, odd);
}

Scalar ScalarEmitter::fromInteger(Scalar s, Type from, Type to, bool isUnsigned) {
  Type wide = env.isF64() || isNarrowFloat(to) ? Type(b.getF64Type()) : to; // f64 holds what has 32 bits
  Type type = shapedLike(wide, s.v.getType());
  Scalar r = s;
  Value exact = s.v;
  if (!env.isF64() && isNarrowFloat(to) && getElementTypeOrSelf(s.v.getType()).isInteger(64))
    exact = roundedToOdd(b, s.v, isUnsigned);
  r.v = isUnsigned ? Value(arith::UIToFPOp::create(b, type, exact)) : Value(arith::SIToFPOp::create(b, type, exact));
  if (!env.isF64())
    r.v = narrowFloat(b, r.v, to);
  else if (env.withError())
    r.e = fromIntegerError(b, s, r.v, from, to);
  return r;
}

absl::StatusOr<Scalar> ScalarEmitter::emitConvert(te::ConvertOp op) {
  auto in = lookup(op.getInput());
  if (!in.ok())
    return in;
  Type from = op.getInput().getType(), to = op.getResult().getType();
  if (to.isInteger())
    return toInteger(*in, from, to, op.getToUnsigned());
  return castFloat(*in, from, to, /*saturate=*/true);
}

absl::StatusOr<Scalar> ScalarEmitter::emitRound(te::RoundOp op) {
  auto in = lookup(op.getInput());
  if (!in.ok())
    return in;
  Scalar s = *in;
  if (!env.isF64())
    s.v = te::buildRoundToTf32(b, b.getLoc(), s.v);
  else if (env.withError())
    s.e = roundingError(b, s, op.getTo(), te::isHighPart(op));
  return s;
}

absl::StatusOr<Scalar> ScalarEmitter::emitBitcast(arith::BitcastOp op, Scalar s) {
  Type from = op.getIn().getType(), to = op.getType();
  if (isa<FloatType>(from)) {
    s.v = env.isF64() ? narrowFloat(b, s.v, from) : s.v;
    if (s.e)
      s.e = unknownError(b, s, env.valueType(to));
  }
  Type middle = isa<FloatType>(to) ? carrierType(to) : to;
  if (getElementTypeOrSelf(s.v.getType()) != middle)
    s.v = LLVM::BitcastOp::create(b, shapedLike(middle, s.v.getType()), s.v);
  if (isa<FloatType>(to) && env.isF64())
    s.v = widenFloat(b, s.v, to, b.getF64Type());
  return s;
}

/// Whether `op` rounds what an output stores, and nothing else.
static bool isStored(Operation *op) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return isa<te::YieldOp>(user) && user->getBlock() == op->getBlock() &&
           llvm::any_of(user->getParentOp()->getUsers(), llvm::IsaPred<te::ReturnOp>);
  });
}

/// As bad as its condition and the side it takes.
Scalar ScalarEmitter::emitSelect(ArrayRef<Scalar> in) {
  Value bad;
  if (in[1].bad || in[2].bad) {
    Value no = constInt(b, b.getI1Type(), 0);
    Value sides[] = {in[0].v, in[1].bad ? in[1].bad : no, in[2].bad ? in[2].bad : no};
    unifyLanes(b, sides);
    bad = arith::SelectOp::create(b, sides[0], sides[1], sides[2]);
  }
  Scalar r{arith::SelectOp::create(b, in[0].v, in[1].v, in[2].v), {}, orMaybe(b, bad, in[0].bad)};
  if (env.withError())
    r.e = selectError(b, in[0], in[1], in[2]);
  return r;
}

/// Null for ops that are no casts between numbers.
std::optional<Scalar> ScalarEmitter::emitCast(Operation *op, const Scalar &in) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return castFloat(in, from, to, false, te::isHighPart(op), isStored(op));
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return toInteger(in, from, to, isa<arith::FPToUIOp>(op));
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return fromInteger(in, from, to, isa<arith::UIToFPOp>(op));
  if (!isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return std::nullopt;
  Type wanted = shapedLike(env.valueType(to), in.v.getType());
  unsigned had = getElementTypeOrSelf(in.v.getType()).getIntOrFloatBitWidth();
  unsigned width = getElementTypeOrSelf(wanted).getIntOrFloatBitWidth();
  Scalar r = in;
  if (width < had)
    r.v = arith::TruncIOp::create(b, wanted, r.v);
  else if (width > had)
    r.v = isa<arith::IndexCastUIOp>(op) ? Value(arith::ExtUIOp::create(b, wanted, r.v)) : Value(arith::ExtSIOp::create(b, wanted, r.v));
  return r;
}

static std::optional<Division> findDivision(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Division>>(op)
      .Case<arith::DivSIOp, arith::RemSIOp>([](auto) { return Division::SignedTrunc; })
      .Case<arith::DivUIOp, arith::RemUIOp>([](auto) { return Division::Unsigned; })
      .Case<arith::FloorDivSIOp>([](auto) { return Division::SignedFloor; })
      .Case<arith::CeilDivSIOp>([](auto) { return Division::SignedCeil; })
      .Case<arith::CeilDivUIOp>([](auto) { return Division::UnsignedCeil; })
      .Default([](Operation *) { return std::nullopt; });
}

/// What LLVM leaves undefined somewhere, defined everywhere; null for other ops.
Value ScalarEmitter::emitDefined(Operation *op, ArrayRef<Scalar> in) {
  if (std::optional<Division> division = findDivision(op))
    return isa<arith::RemSIOp, arith::RemUIOp>(op) ? emitRemainder(b, *division, in[0].v, in[1].v)
                                                   : emitDivision(b, *division, in[0].v, in[1].v);
  if (!isa<math::IPowIOp>(op))
    return {};
  Type i64 = shapedLike(b.getI64Type(), in[0].v.getType());
  auto extend = [&](Value v) { return v.getType() == i64 ? v : Value(arith::ExtSIOp::create(b, i64, v)); };
  Value r = callPure(b, "kc_ipow", i64, {extend(in[0].v), extend(in[1].v)});
  return in[0].v.getType() == i64 ? r : Value(arith::TruncIOp::create(b, in[0].v.getType(), r));
}

/// A function of MathLibrary.h, or of floats that upstream does not lower; null for other ops.
Value ScalarEmitter::emitFunction(Operation *op, SmallVectorImpl<Value> &args) {
  if (isa<math::IsInfOp>(op)) // upstream's lowering to LLVM has the other tests only
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, Value(math::AbsFOp::create(b, args[0])),
                                 constFloat(b, args[0].getType(), std::numeric_limits<double>::infinity()));
  const MathFunction *f = findMathFunction(op->getName().getStringRef());
  if (!f)
    return {};
  if (isa<math::FPowIOp>(op))
    args[1] = arith::SIToFPOp::create(b, args[0].getType(), args[1]);
  Type type = args[0].getType();
  if (f->intrinsic)
    return callIntrinsic(b, f->intrinsic, type, args);
  return callPure(b, std::string(f->symbol) + (getElementTypeOrSelf(type).isF32() ? "f" : ""), type, args);
}

absl::Status ScalarEmitter::emitElementwise(Operation *op, MutableArrayRef<Scalar> in, Value bad, bool inexact) {
  Type resultType = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) {
    unsigned width = resultType.isIndex() ? 64 : resultType.getIntOrFloatBitWidth();
    in[1].v = arith::AndIOp::create(b, in[1].v, constInt(b, in[1].v.getType(), width - 1));
  }
  // Narrow floats are computed on in f32.
  Type computed = resultType;
  for (auto [s, v] : llvm::zip(in, op->getOperands()))
    if (isNarrowFloat(v.getType())) {
      s = widen(s, v.getType());
      if (resultType && isNarrowFloat(resultType))
        computed = b.getF32Type();
    }
  SmallVector<Value> args;
  for (Scalar &s : in)
    args.push_back(s.v);
  auto finish = [&](Value v) {
    Scalar r{v, {}, bad};
    bool isFloat = llvm::any_of(op->getOperandTypes(), [](Type t) { return isa<FloatType>(t); });
    if (env.withError() && isFloat)
      r.e = floatOpError(b, op, in, v);
    else if (inexact)
      r.e = integerOpError(b, op, in, v);
    if (!env.isF64() && resultType && isNarrowFloat(resultType))
      r.v = narrowFloat(b, v, resultType);
    map_[op->getResult(0)] = r;
    return absl::OkStatus();
  };
  if (Value v = emitFunction(op, args))
    return finish(v);
  bool pair = isa<arith::AddUIExtendedOp, arith::MulSIExtendedOp, arith::MulUIExtendedOp>(op);
  if (!OpTrait::hasElementwiseMappableTraits(op) || (op->getNumResults() != 1 && !pair))
    return unsupported(op);
  OperationState state(b.getLoc(), op->getName(), args, {}, op->getAttrs());
  for (Type t : op->getResultTypes())
    state.addTypes(shapedLike(env.valueType(t == resultType ? computed : t), args.empty() ? Type(b.getI1Type()) : args[0].getType()));
  Operation *clone = b.create(state);
  if (op->getNumResults() == 1)
    return finish(clone->getResult(0));
  if (inexact)
    return unsupported(op, "on approximate operands");
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    map_[from] = Scalar{to, {}, bad};
  return absl::OkStatus();
}

absl::Status ScalarEmitter::emitGeneric(Operation *op, ArrayRef<Scalar> given) {
  SmallVector<Scalar> in(given);
  SmallVector<Value> values;
  for (Scalar &s : in)
    values.push_back(s.v);
  unifyLanes(b, values);
  for (auto [s, v] : llvm::zip(in, values))
    s.v = v;
  if (isa<arith::SelectOp>(op)) {
    map_[op->getResult(0)] = emitSelect(in);
    return absl::OkStatus();
  }
  Value bad;
  for (const Scalar &s : in)
    bad = orMaybe(b, bad, s.bad);
  auto set = [&](Scalar s) {
    s.bad = bad;
    map_[op->getResult(0)] = s;
    return absl::OkStatus();
  };
  if (auto cast = dyn_cast<arith::BitcastOp>(op)) {
    auto s = emitBitcast(cast, in[0]);
    return s.ok() ? set(*s) : s.status();
  }
  if (!in.empty())
    if (std::optional<Scalar> cast = emitCast(op, in[0]))
      return set(*cast);
  bool inexact = llvm::any_of(in, [](const Scalar &s) { return bool(s.e); });
  if (Value v = emitDefined(op, in))
    return set(Scalar{v, inexact ? integerOpError(b, op, in, v) : Value(), {}});
  return emitElementwise(op, in, bad, inexact);
}

} // namespace kernelc::reference

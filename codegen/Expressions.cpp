// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar expressions of the CUDA text.
#include "codegen/Emitter.h"
#include "codegen/Helpers.h"

#include <cmath>
#include <limits>

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace kernelc::codegen {

std::string Emitter::bitsType(const char *name, const char *bits) {
  typedefs_.insert(std::string("typedef ") + bits + " " + name + ";");
  return name;
}

std::string Emitter::elementName(Value memref) {
  if (llvm::any_of(memref.getUsers(), llvm::IsaPred<cu::MbarrierInitOp>))
    return bitsType("mbarrier", "unsigned long long");
  return typeName(llvm::cast<MemRefType>(memref.getType()).getElementType());
}

std::string Emitter::typeName(Type type) {
  if (type.isIndex())
    return indexBits_ == 32 ? "int" : "long long";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  // The language's own names, which no name of a program is.
  if (type.isF16() || type.isBF16())
    return bitsType(type.isF16() ? "f16" : "bf16", "unsigned short");
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return bitsType(isa<Float8E4M3FNType>(type) ? "f8e4m3" : "f8e5m2", "unsigned char");
  switch (type.isInteger() ? type.getIntOrFloatBitWidth() : 0) {
  case 1: return "bool";
  case 8: return "signed char";
  case 16: return "short";
  case 32: return type.isUnsignedInteger() ? "unsigned" : "int";
  case 64: return type.isUnsignedInteger() ? "unsigned long long" : "long long";
  }
  return "";
}

unsigned Emitter::bitsOf(Value v) {
  if (!v.getType().isIndex())
    return v.getType().getIntOrFloatBitWidth();
  Operation *op = v.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return llvm::isInt<32>(cast<IntegerAttr>(constant.getValue()).getInt()) ? 32 : 64;
  if (!op) {
    op = v.getParentBlock()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(op); loop ? v != loop.getInductionVar() : !isa<cu::CountWhereOp, cu::FindWhereOp>(op))
      op = nullptr;
  }
  return op && op->hasAttr(cu::kNarrowAttr) ? 32 : indexBits_;
}

std::string Emitter::typeName(Value v) { return v.getType().isIndex() ? bitsOf(v) == 32 ? "int" : "long long" : typeName(v.getType()); }

namespace {
const char *unsignedName(unsigned bits) {
  return bits == 64 ? "unsigned long long" : bits == 16 ? "unsigned short" : bits == 8 ? "unsigned char" : "unsigned";
}

std::string floatText(double v, bool single) {
  if (std::isnan(v))
    return single ? "__int_as_float(0x7fc00000)" : "__longlong_as_double(0x7ff8000000000000LL)";
  // The shortest decimal that reads back as the same number.
  char buffer[40];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, v);
    if (single ? std::strtof(buffer, nullptr) == float(v) : std::strtod(buffer, nullptr) == v)
      break;
  }
  std::string s = buffer;
  if (s.find_first_of(".e") == std::string::npos)
    s += ".0";
  return single ? s + "f" : s;
}
} // namespace

Expr Emitter::infinity(bool single, bool isNegative) {
  std::string text = helper(single ? "kc_infinity" : "kc_infinity_f64", ValueRange()).text;
  return isNegative ? Expr{"-" + text, kUnary} : Expr{text, kPrimary};
}

Expr Emitter::constant(Attribute value) {
  if (auto f = dyn_cast<FloatAttr>(value)) {
    Type t = f.getType();
    if (!t.isF32() && !t.isF64()) { // narrow floats travel as bit patterns
      uint64_t bits = f.getValue().bitcastToAPInt().getZExtValue();
      return {bits ? "0x" + llvm::utohexstr(bits, true) : "0", kPrimary};
    }
    double v = f.getValueAsDouble();
    if (std::isinf(v))
      return infinity(t.isF32(), v < 0);
    return {floatText(v, t.isF32()), std::signbit(v) && !std::isnan(v) ? kUnary : kPrimary};
  }
  auto i = llvm::cast<IntegerAttr>(value);
  if (i.getType().isInteger(1))
    return {i.getValue().isZero() ? "false" : "true", kPrimary};
  int64_t v = i.getInt();
  bool wide = i.getType().isInteger(64) || i.getType().isIndex();
  if (v == std::numeric_limits<int64_t>::min())
    return {"(-9223372036854775807LL - 1)", kPrimary};
  if (!wide && v == std::numeric_limits<int32_t>::min())
    return {"(-2147483647 - 1)", kPrimary};
  std::string s = std::to_string(v);
  if (wide && (v > INT32_MAX || v < INT32_MIN || i.getType().isInteger(64)))
    s += "LL";
  return {s, v < 0 ? kUnary : kPrimary};
}

static std::string parenthesize(const Expr &e, int atLeast) { return e.precedence >= atLeast ? e.text : "(" + e.text + ")"; }

Expr Emitter::expr(Value value) {
  if (Operation *op = value.getDefiningOp(); op && (inlined_.contains(op) || isa<arith::ConstantOp>(op))) {
    Expr e = makeExpr(op);
    if (e.text.empty()) {
      unsupported(op) << " for " << op->getResultTypes();
      return {"<unsupported>", kPrimary};
    }
    return e;
  }
  if (!names_.has(value)) {
    failed_ = true;
    return {"<undefined>", kPrimary};
  }
  return {names_.get(value), kPrimary};
}

std::string Emitter::operand(Value value, int atLeast) { return parenthesize(expr(value), atLeast); }

Expr Emitter::binary(Operation *op, const char *symbol, int precedence, bool isUnsigned, bool wraps) {
  Type type = op->getOperand(0).getType();
  // Signed overflow is undefined in C; the language's integers wrap. Indices cannot overflow.
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  bool stays = type.isIndex() || type.isInteger(1) || (flags && flags.hasNoSignedWrap());
  bool viaUnsigned = isUnsigned || (wraps && !stays);
  if (viaUnsigned) {
    std::string u = unsignedName(std::max(bitsOf(op->getOperand(0)), bitsOf(op->getOperand(1))));
    std::string text =
        "(" + u + ")" + operand(op->getOperand(0), kUnary) + " " + symbol + " (" + u + ")" + operand(op->getOperand(1), kUnary);
    if (op->getResult(0).getType().isInteger(1))
      return {text, precedence};
    return {"(" + typeName(op->getResult(0)) + ")(" + text + ")", kUnary};
  }
  // Two ints make an int; what has more bits asks for them.
  if (op->getResult(0).getType().isIndex() && bitsOf(op->getResult(0)) > std::max(bitsOf(op->getOperand(0)), bitsOf(op->getOperand(1))))
    return {"(long long)" + operand(op->getOperand(0), kUnary) + " " + symbol + " " + operand(op->getOperand(1), precedence + 1),
            precedence};
  return {operand(op->getOperand(0), precedence) + " " + symbol + " " + operand(op->getOperand(1), precedence + 1), precedence};
}

unsigned Emitter::bitsInC(Value v) {
  unsigned bits = bitsOf(v);
  Operation *op = v.getDefiningOp();
  if (op && inlined_.contains(op) && !isa<arith::ConstantOp, arith::IndexCastOp>(op))
    for (Value x : op->getOperands())
      if (x.getType().isIndex())
        bits = std::max(bits, bitsInC(x));
  return bits;
}

/// Whether an index that is no narrower than `bits` is written as what its narrower operands come to: a quotient of them, or the larger.
bool Emitter::isNarrowInC(Value v, unsigned bits) {
  Operation *op = v.getDefiningOp();
  bool isClosed =
      isa_and_nonnull<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::MaxSIOp, arith::MinSIOp>(op);
  return isClosed && inlined_.contains(op) &&
         llvm::all_of(op->getOperands(), [&](Value x) { return bitsInC(x) < bits || isNarrowInC(x, bits); });
}

Expr Emitter::call(StringRef function, ValueRange args) {
  // Overloads and templates want indices of one type.
  unsigned most = 0;
  for (Value a : args)
    most = a.getType().isIndex() ? std::max(most, bitsOf(a)) : most;
  std::string text = function.str() + "(";
  for (auto [i, a] : llvm::enumerate(args)) {
    text += i ? ", " : "";
    if (a.getType().isIndex() && bitsOf(a) < most)
      text += a.getDefiningOp<arith::ConstantOp>() ? operand(a, kConditional) + "LL" : "(long long)" + operand(a, kUnary);
    else if (a.getType().isIndex() && bitsInC(a) > most)
      text += "(int)" + operand(a, kUnary);
    else if (a.getType().isIndex() && isNarrowInC(a, most))
      text += "(long long)" + operand(a, kUnary);
    else
      text += operand(a, kConditional);
  }
  return {text + ")", kPrimary};
}

Expr Emitter::helper(StringRef name, ValueRange args) {
  use(name);
  return call(name, args);
}

Expr Emitter::cast(Operation *op, StringRef type) { return {"(" + type.str() + ")" + operand(op->getOperand(0), kUnary), kUnary}; }

Expr Emitter::mathCall(Operation *op) {
  Type type = op->getResult(0).getType();
  if (auto erfc = dyn_cast<math::ErfcOp>(op); erfc && type.isF32() && bitEnumContainsAny(erfc.getFastmath(), arith::FastMathFlags::afn))
    return helper("kc_erfc", op->getOperands());
  if (auto exp2 = dyn_cast<math::Exp2Op>(op); exp2 && type.isF32() && bitEnumContainsAny(exp2.getFastmath(), arith::FastMathFlags::afn))
    return helper("kc_exp2", op->getOperands());
  StringRef base = llvm::TypeSwitch<Operation *, StringRef>(op)
                       .Case<math::ExpOp>([](auto) { return "exp"; })
                       .Case<math::Exp2Op>([](auto) { return "exp2"; })
                       .Case<math::ExpM1Op>([](auto) { return "expm1"; })
                       .Case<math::LogOp>([](auto) { return "log"; })
                       .Case<math::Log2Op>([](auto) { return "log2"; })
                       .Case<math::Log10Op>([](auto) { return "log10"; })
                       .Case<math::Log1pOp>([](auto) { return "log1p"; })
                       .Case<math::SqrtOp>([](auto) { return "sqrt"; })
                       .Case<math::RsqrtOp>([](auto) { return "rsqrt"; })
                       .Case<math::CbrtOp>([](auto) { return "cbrt"; })
                       .Case<math::SinOp>([](auto) { return "sin"; })
                       .Case<math::CosOp>([](auto) { return "cos"; })
                       .Case<math::TanOp>([](auto) { return "tan"; })
                       .Case<math::AsinOp>([](auto) { return "asin"; })
                       .Case<math::AcosOp>([](auto) { return "acos"; })
                       .Case<math::AtanOp>([](auto) { return "atan"; })
                       .Case<math::Atan2Op>([](auto) { return "atan2"; })
                       .Case<math::SinhOp>([](auto) { return "sinh"; })
                       .Case<math::CoshOp>([](auto) { return "cosh"; })
                       .Case<math::TanhOp>([](auto) { return "tanh"; })
                       .Case<math::AsinhOp>([](auto) { return "asinh"; })
                       .Case<math::AcoshOp>([](auto) { return "acosh"; })
                       .Case<math::AtanhOp>([](auto) { return "atanh"; })
                       .Case<math::ErfOp>([](auto) { return "erf"; })
                       .Case<math::ErfcOp>([](auto) { return "erfc"; })
                       .Case<math::PowFOp>([](auto) { return "pow"; })
                       .Case<math::AbsFOp>([](auto) { return "fabs"; })
                       .Case<math::FloorOp>([](auto) { return "floor"; })
                       .Case<math::CeilOp>([](auto) { return "ceil"; })
                       .Case<math::TruncOp>([](auto) { return "trunc"; })
                       .Case<math::RoundOp>([](auto) { return "round"; })
                       .Case<math::RoundEvenOp>([](auto) { return "rint"; })
                       .Case<math::CopySignOp>([](auto) { return "copysign"; })
                       .Case<math::FmaOp>([](auto) { return "fma"; })
                       .Default([](Operation *) { return ""; });
  if (base.empty() || !(type.isF32() || type.isF64()))
    return {"", 0};
  return call(type.isF32() ? base.str() + "f" : base.str(), op->getOperands());
}

/// One rounding: through a float that holds the integer, or an f64 rounded to odd.
Expr Emitter::integerToHalf(Operation *op, bool isUnsigned) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (!(to.isF16() || to.isBF16()) || from.isIndex())
    return {"", 0};
  std::string name = to.isBF16() ? "kc_f32_to_bf16" : "kc_f32_to_f16";
  Value widened = op->getOperand(0);
  if (Operation *by = widened.getDefiningOp(); isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(by))
    widened = by->getOperand(0);
  bool small = widened.getType().getIntOrFloatBitWidth() <= 16; // then f32 holds it exactly
  std::string sign = isUnsigned && !from.isInteger(1) ? std::string("(") + unsignedName(from.getIntOrFloatBitWidth()) + ")" : "";
  std::string value = (small ? "(float)" : "(double)") + sign + operand(op->getOperand(0), kUnary);
  use(name);
  if (small)
    return {name + "(" + value + ")", kPrimary};
  use("kc_round_odd");
  if (from.getIntOrFloatBitWidth() > 32)
    value = helper(isUnsigned ? "kc_u64_round_odd" : "kc_i64_round_odd", op->getOperand(0)).text;
  return {name + "(kc_round_odd(" + value + "))", kPrimary};
}

Expr Emitter::convert(cu::ConvertOp op) {
  Type from = op.getInput().getType(), to = op.getResult().getType();
  if (isa<Float8E4M3FNType>(to))
    return from.isF64() ? Expr{helper("kc_f32_to_e4m3", {}).text.substr(0, 15) + helper("kc_round_odd", op.getInput()).text + ")", kPrimary}
                        : helper("kc_f32_to_e4m3", op.getInput());
  if (isa<Float8E5M2Type>(to))
    return from.isF64() ? Expr{helper("kc_f32_to_e5m2", {}).text.substr(0, 15) + helper("kc_round_odd", op.getInput()).text + ")", kPrimary}
                        : helper("kc_f32_to_e5m2", op.getInput());
  unsigned bits = to.getIntOrFloatBitWidth();
  bool u = op.getToUnsigned();
  if (bits == 64)
    return helper(u ? "kc_to_u64" : "kc_to_i64", op.getInput());
  if (bits == 32)
    return u ? Expr{"(int)" + helper("kc_to_u32", op.getInput()).text, kUnary} : helper("kc_to_i32", op.getInput());
  int64_t low = u ? 0 : -(int64_t(1) << (bits - 1)), high = (int64_t(1) << (u ? bits : bits - 1)) - 1;
  use("kc_clamp_f32_i32");
  // Integers of 16 bits and fewer are exact in float, so narrowing first changes nothing but the sticky digits
  // that truncation drops; f64 inputs round towards zero to keep that true.
  std::string v = operand(op.getInput(), kConditional);
  if (from.isF64())
    v = "__double2float_rz(" + v + ")";
  return {"(" + typeName(to) + ")kc_clamp_f32_i32(" + v + ", " + std::to_string(low) + ", " + std::to_string(high) + ")", kUnary};
}

static const char *comparison(arith::CmpFPredicate p) {
  switch (p) {
  case arith::CmpFPredicate::OEQ: return "==";
  case arith::CmpFPredicate::OLT: return "<";
  case arith::CmpFPredicate::OLE: return "<=";
  case arith::CmpFPredicate::OGT: return ">";
  case arith::CmpFPredicate::OGE: return ">=";
  case arith::CmpFPredicate::UNE: return "!=";
  default: return nullptr;
  }
}

static std::pair<const char *, bool> comparison(arith::CmpIPredicate p) {
  switch (p) {
  case arith::CmpIPredicate::eq: return {"==", false};
  case arith::CmpIPredicate::ne: return {"!=", false};
  case arith::CmpIPredicate::slt: return {"<", false};
  case arith::CmpIPredicate::sle: return {"<=", false};
  case arith::CmpIPredicate::sgt: return {">", false};
  case arith::CmpIPredicate::sge: return {">=", false};
  case arith::CmpIPredicate::ult: return {"<", true};
  case arith::CmpIPredicate::ule: return {"<=", true};
  case arith::CmpIPredicate::ugt: return {">", true};
  case arith::CmpIPredicate::uge: return {">=", true};
  }
  return {nullptr, false};
}

/// A float as an f32, or an f64 as it is: narrow ones are stored as their bits.
Expr Emitter::widened(Value v) {
  Type from = v.getType();
  return from.isF32() || from.isF64()        ? expr(v)
         : from.isBF16()                     ? helper("kc_bf16_to_f32", v)
         : from.isF16()                      ? helper("kc_f16_to_f32", v)
         : llvm::isa<Float8E4M3FNType>(from) ? helper("kc_e4m3_to_f32", v)
         : llvm::isa<Float8E5M2Type>(from)   ? helper("kc_e5m2_to_f32", v)
                                             : Expr{"", 0};
}

/// |x| of a test of x, and the infinity to compare it with.
std::string Emitter::magnitude(Operation *op) {
  return (op->getOperand(0).getType().isF64() ? "fabs(" : "fabsf(") + widened(op->getOperand(0)).text + ")";
}
std::string Emitter::infinityFor(Operation *op) { return infinity(!op->getOperand(0).getType().isF64(), false).text; }

/// The C expression of a pure scalar op; empty text when it has none.
Expr Emitter::makeExpr(Operation *op) {
  Type type = op->getNumResults() ? op->getResult(0).getType() : Type();
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<arith::ConstantOp>([&](auto c) { return constant(c.getValue()); })
      .Case<cu::ThreadIdOp>([&](auto) { return Expr{"(" + typeName(op->getResult(0)) + ")threadIdx.x", kUnary}; })
      .Case<cu::BlockIdOp>([&](auto) { return Expr{"(" + typeName(op->getResult(0)) + ")blockIdx.x", kUnary}; })
      .Case<cu::WarpgroupOp>([&](auto) {
        use("kc_warpgroup");
        return Expr{"kc_warpgroup()", kPrimary};
      })
      .Case<cu::LeaderOp>([&](auto) { return helper("kc_leader", ValueRange()); })
      .Case<cu::OpaqueOp>([&](auto) { return helper("kc_opaque", op->getOperands()); })
      .Case<cu::SmemDescOp>([&](cu::SmemDescOp d) {
        use("kc_smem_desc");
        return Expr{"kc_smem_desc(" + address(d.getSource(), d.getIndex()) + ", " + std::to_string(d.getLeading()) + ", " +
                        std::to_string(d.getStride()) + ", " + std::to_string(d.getSwizzle()) + ")",
                    kPrimary};
      })
      .Case<cu::DescAdvanceOp>([&](auto) { return helper("kc_desc_advance", op->getOperands()); })
      .Case<cu::ClusterRankOp>([&](auto) {
        use("kc_cluster_rank");
        return Expr{"(int)kc_cluster_rank()", kUnary};
      })
      .Case<cu::ClusterLoadOp>([&](cu::ClusterLoadOp l) {
        std::string name =
            std::string("kc_cluster_load_") + (isa<FloatType>(type) ? "f" : "i") + std::to_string(type.getIntOrFloatBitWidth());
        use(name);
        return Expr{name + "(" + address(l.getSource(), l.getIndex()) + ", " + operand(l.getBlock(), kConditional) + ")", kPrimary};
      })
      .Case<cu::GridSizeOp>([&](auto) { return Expr{"(" + typeName(op->getResult(0)) + ")gridDim.x", kUnary}; })
      .Case<cu::SharedOp>([&](cu::SharedOp s) {
        use("kc_shared");
        std::string base = s.getOffset() ? "kc_shared() + " + std::to_string(s.getOffset()) : "kc_shared()";
        return Expr{"(" + elementName(s) + " *)(" + base + ")", kUnary};
      })
      .Case<cu::ShuffleXorOp>([&](cu::ShuffleXorOp s) {
        Type t = s.getValue().getType();
        std::string v = operand(s.getValue(), kConditional);
        if (t.isInteger() && t.getIntOrFloatBitWidth() < 32)
          v = "(int)" + operand(s.getValue(), kUnary);
        std::string text = "__shfl_xor_sync(0xffffffffu, " + v + ", ";
        if (APInt step; s.getStep() && !matchPattern(s.getStep(), m_ConstantInt(&step)))
          text += std::to_string(s.getMask()) + " << " + operand(s.getStep(), kAdditive) + ")";
        else
          text += std::to_string(s.getMask() << (s.getStep() ? step.getZExtValue() : 0)) + ")";
        if (t.isInteger(1))
          return Expr{text + " != 0", kEquality};
        if (t.isInteger() && t.getIntOrFloatBitWidth() < 32)
          return Expr{"(" + typeName(t) + ")" + text, kUnary};
        return Expr{text, kPrimary};
      })
      .Case<cu::ConvertOp>([&](auto c) { return convert(c); })
      .Case<memref::LoadOp>([&](memref::LoadOp l) {
        return Expr{l.getNontemporal() ? "__ldcs(" + address(l.getMemRef(), l.getIndices()) + ")" : element(l.getMemRef(), l.getIndices()),
                    kPrimary};
      })
      .Case<arith::AddFOp>([&](auto) { return binary(op, "+", kAdditive); })
      .Case<arith::SubFOp>([&](auto) { return binary(op, "-", kAdditive); })
      .Case<arith::MulFOp>([&](auto) { return binary(op, "*", kMultiplicative); })
      .Case<arith::DivFOp>([&](auto) { return binary(op, "/", kMultiplicative); })
      .Case<arith::RemFOp>([&](auto) { return call(type.isF32() ? "fmodf" : "fmod", op->getOperands()); })
      .Case<arith::NegFOp>([&](auto) { return Expr{"-" + operand(op->getOperand(0), kPrimary), kUnary}; })
      .Case<arith::MaximumFOp>([&](auto) { return helper(type.isF64() ? "kc_maximum_f64" : "kc_maximum", op->getOperands()); })
      .Case<arith::MinimumFOp>([&](auto) { return helper(type.isF64() ? "kc_minimum_f64" : "kc_minimum", op->getOperands()); })
      .Case<arith::MaxNumFOp>([&](auto) { return call(type.isF64() ? "fmax" : "fmaxf", op->getOperands()); })
      .Case<arith::MinNumFOp>([&](auto) { return call(type.isF64() ? "fmin" : "fminf", op->getOperands()); })
      .Case<arith::AddIOp>([&](auto) { return type.isInteger(1) ? binary(op, "!=", kEquality) : binary(op, "+", kAdditive, false, true); })
      .Case<arith::SubIOp>([&](auto) { return binary(op, "-", kAdditive, false, true); })
      .Case<arith::MulIOp>(
          [&](auto) { return type.isInteger(1) ? binary(op, "&&", kLogicalAnd) : binary(op, "*", kMultiplicative, false, true); })
      .Case<arith::DivSIOp>([&](auto) { return binary(op, "/", kMultiplicative); })
      .Case<arith::RemSIOp>([&](auto) { return binary(op, "%", kMultiplicative); })
      .Case<arith::DivUIOp>([&](auto) { return binary(op, "/", kMultiplicative, true); })
      .Case<arith::RemUIOp>([&](auto) { return binary(op, "%", kMultiplicative, true); })
      .Case<arith::FloorDivSIOp>([&](auto) { return helper("kc_floordiv", op->getOperands()); })
      .Case<arith::CeilDivSIOp>([&](auto) { return helper("kc_ceildiv", op->getOperands()); })
      .Case<arith::AndIOp>([&](auto) { return type.isInteger(1) ? binary(op, "&&", kLogicalAnd) : binary(op, "&", kBitAnd); })
      .Case<arith::OrIOp>([&](auto) { return type.isInteger(1) ? binary(op, "||", kLogicalOr) : binary(op, "|", kBitOr); })
      .Case<arith::XOrIOp>([&](auto) { return type.isInteger(1) ? binary(op, "!=", kEquality) : binary(op, "^", kBitXor); })
      .Case<arith::ShLIOp>([&](auto) { return binary(op, "<<", kShift, true); })
      .Case<arith::ShRUIOp>([&](auto) { return binary(op, ">>", kShift, true); })
      .Case<arith::ShRSIOp>([&](auto) { return binary(op, ">>", kShift); })
      .Case<arith::MaxSIOp>([&](auto) { return call("max", op->getOperands()); })
      .Case<arith::MinSIOp>([&](auto) { return call("min", op->getOperands()); })
      .Case<arith::MaxUIOp, arith::MinUIOp>([&](auto) {
        std::string u = unsignedName(std::max(bitsOf(op->getOperand(0)), bitsOf(op->getOperand(1))));
        return Expr{"(" + typeName(op->getResult(0)) + ")" + (isa<arith::MaxUIOp>(op) ? "max((" : "min((") + u + ")" +
                        operand(op->getOperand(0), kUnary) + ", (" + u + ")" + operand(op->getOperand(1), kUnary) + ")",
                    kUnary};
      })
      .Case<arith::CmpFOp>([&](arith::CmpFOp c) {
        if (const char *s = comparison(c.getPredicate()))
          return binary(op, s,
                        c.getPredicate() == arith::CmpFPredicate::OEQ || c.getPredicate() == arith::CmpFPredicate::UNE ? kEquality
                                                                                                                       : kRelational);
        // The other unordered and ordered forms, by negation.
        arith::CmpFPredicate inverse;
        switch (c.getPredicate()) {
        case arith::CmpFPredicate::UGE: inverse = arith::CmpFPredicate::OLT; break;
        case arith::CmpFPredicate::UGT: inverse = arith::CmpFPredicate::OLE; break;
        case arith::CmpFPredicate::ULE: inverse = arith::CmpFPredicate::OGT; break;
        case arith::CmpFPredicate::ULT: inverse = arith::CmpFPredicate::OGE; break;
        case arith::CmpFPredicate::UNO:
        case arith::CmpFPredicate::ORD: {
          std::string a = operand(c.getLhs(), kRelational), b = operand(c.getRhs(), kRelational);
          bool isUnordered = c.getPredicate() == arith::CmpFPredicate::UNO;
          if (c.getLhs() == c.getRhs())
            return Expr{a + (isUnordered ? " != " : " == ") + a, kEquality};
          return isUnordered ? Expr{a + " != " + a + " || " + b + " != " + b, kLogicalOr}
                             : Expr{a + " == " + a + " && " + b + " == " + b, kLogicalAnd};
        }
        case arith::CmpFPredicate::ONE:
        case arith::CmpFPredicate::UEQ: {
          std::string a = operand(c.getLhs(), kAdditive), b = operand(c.getRhs(), kAdditive);
          std::string apart = a + " < " + b + " || " + a + " > " + b;
          return c.getPredicate() == arith::CmpFPredicate::ONE ? Expr{apart, kLogicalOr} : Expr{"!(" + apart + ")", kUnary};
        }
        default: return Expr{"", 0};
        }
        return Expr{"!(" + operand(c.getLhs(), kRelational) + " " + comparison(inverse) + " " + operand(c.getRhs(), kAdditive) + ")",
                    kUnary};
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp c) {
        auto [symbol, isUnsigned] = comparison(c.getPredicate());
        bool equality = c.getPredicate() == arith::CmpIPredicate::eq || c.getPredicate() == arith::CmpIPredicate::ne;
        return binary(op, symbol, equality ? kEquality : kRelational, isUnsigned);
      })
      .Case<arith::SelectOp>([&](arith::SelectOp s) {
        return Expr{operand(s.getCondition(), kLogicalOr) + " ? " + operand(s.getTrueValue(), kLogicalOr) + " : " +
                        operand(s.getFalseValue(), kConditional),
                    kConditional};
      })
      .Case<arith::ExtFOp>([&](arith::ExtFOp e) {
        Expr narrow = widened(e.getIn());
        if (!type.isF64() || narrow.text.empty())
          return type.isF32() || type.isF64() ? narrow : Expr{"", 0};
        return Expr{"(double)" + (narrow.precedence >= kUnary ? narrow.text : "(" + narrow.text + ")"), kUnary};
      })
      .Case<arith::TruncFOp>([&](arith::TruncFOp t) {
        Type from = t.getIn().getType();
        if (type.isF32())
          return cast(op, "float");
        StringRef name = type.isBF16() ? "kc_f32_to_bf16" : type.isF16() ? "kc_f32_to_f16" : "";
        if (name.empty())
          return Expr{"", 0};
        use(name);
        if (!from.isF64())
          return call(name, t.getIn());
        return Expr{name.str() + "(" + helper("kc_round_odd", t.getIn()).text + ")", kPrimary};
      })
      .Case<arith::SIToFPOp>([&](auto) { return type.isF32() || type.isF64() ? cast(op, typeName(type)) : integerToHalf(op, false); })
      .Case<arith::UIToFPOp>([&](arith::UIToFPOp c) {
        Type from = c.getIn().getType();
        if (!type.isF32() && !type.isF64())
          return integerToHalf(op, true);
        if (from.isInteger(1))
          return Expr{operand(c.getIn(), kLogicalOr) + (type.isF32() ? " ? 1.0f : 0.0f" : " ? 1.0 : 0.0"), kConditional};
        return Expr{"(" + typeName(type) + ")(" + unsignedName(bitsOf(c.getIn())) + ")" + operand(c.getIn(), kUnary), kUnary};
      })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) {
        if (type.isInteger(1))
          return Expr{"(" + operand(op->getOperand(0), kBitAnd + 1) + " & 1) != 0", kEquality};
        return op->getOperand(0).getType().isInteger(1) ? Expr{operand(op->getOperand(0), kLogicalOr) + " ? -1 : 0", kConditional}
                                                        : cast(op, typeName(op->getResult(0)));
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        Type from = op->getOperand(0).getType();
        if (from.isInteger(1))
          return Expr{operand(op->getOperand(0), kLogicalOr) + " ? 1 : 0", kConditional};
        return Expr{"(" + typeName(op->getResult(0)) + ")(" + unsignedName(bitsOf(op->getOperand(0))) + ")" +
                        operand(op->getOperand(0), kUnary),
                    kUnary};
      })
      .Case<arith::BitcastOp>([&](auto) {
        Type from = op->getOperand(0).getType();
        StringRef f = from.isF32() && type.isInteger(32)   ? "__float_as_int"
                      : from.isInteger(32) && type.isF32() ? "__int_as_float"
                      : from.isF64() && type.isInteger(64) ? "__double_as_longlong"
                      : from.isInteger(64) && type.isF64() ? "__longlong_as_double"
                                                           : "";
        return f.empty() ? Expr{"", 0} : call(f, op->getOperands());
      })
      .Case<math::AbsIOp>([&](auto) { return call("abs", op->getOperands()); })
      .Case<math::CtPopOp>([&](auto) { return call(type.isInteger(64) ? "__popcll" : "__popc", op->getOperands()); })
      .Case<math::IsNaNOp>([&](auto) {
        std::string a = parenthesize(widened(op->getOperand(0)), kRelational);
        return Expr{a + " != " + a, kEquality};
      })
      .Case<math::IsInfOp>([&](auto) { return Expr{magnitude(op) + " == " + infinityFor(op), kEquality}; })
      .Case<math::IsFiniteOp>([&](auto) { return Expr{magnitude(op) + " < " + infinityFor(op), kRelational}; })
      .Default([&](Operation *) { return mathCall(op); });
}

std::string Emitter::element(Value memref, ValueRange indices) {
  auto type = llvm::cast<MemRefType>(memref.getType());
  std::string base = operand(memref, kPrimary);
  if (type.getRank() == 0 || (type.hasStaticShape() && type.getNumElements() == 1 && cu::spaceOf(memref) == cu::Private))
    return base;
  for (Value i : indices)
    base += "[" + expr(i).text + "]";
  return base;
}

/// The address of an element: arrays of lower rank decay.
std::string Emitter::address(Value memref, ValueRange indices) {
  auto type = llvm::cast<MemRefType>(memref.getType());
  if (type.hasStaticShape() && type.getNumElements() == 1 && cu::spaceOf(memref) == cu::Private)
    return "&" + operand(memref, kPrimary);
  if (indices.empty())
    return operand(memref, kPrimary);
  if (indices.size() == 1) {
    Expr i = expr(indices[0]);
    if (i.text == "0")
      return operand(memref, kPrimary);
  }
  return "&" + element(memref, indices);
}

} // namespace kernelc::codegen

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar expressions of the CUDA text.
#include "codegen/Emitter.h"
#include "codegen/Helpers.h"
#include "ir/cu/Marks.h"

#include <cmath>
#include <limits>

#include "mlir/Dialect/Utils/StaticValueUtils.h"
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
  Type element = llvm::cast<MemRefType>(memref.getType()).getElementType();
  return element.isIndex() ? bitsOfElement(memref) == 32 ? "int" : "long long" : typeName(element);
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

const char *Emitter::unsignedName(unsigned bits) {
  return bits == 64 ? "unsigned long long" : bits == 16 ? "unsigned short" : bits == 8 ? "unsigned char" : "unsigned";
}

/// Whether cu-narrow has shown that an index fits 32 bits.
static bool isNarrow(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return llvm::isInt<32>(cast<IntegerAttr>(constant.getValue()).getInt());
  if (!op) {
    op = v.getParentBlock()->getParentOp();
    if (auto lambda = dyn_cast<cu::LambdaOp>(op)) // an argument is as narrow as what is passed
      return llvm::all_of(lambda->getUsers(), [&](Operation *call) {
        return isNarrow(cast<cu::CallOp>(call).getArguments()[cast<BlockArgument>(v).getArgNumber()]);
      });
    if (auto loop = dyn_cast<scf::ForOp>(op); loop ? v != loop.getInductionVar() : !cu::isSearch(op))
      op = nullptr;
  }
  return op && cu::kNarrow.isOn(op);
}

unsigned Emitter::bitsOfElement(Value memref) {
  Type element = llvm::cast<MemRefType>(memref.getType()).getElementType();
  if (!element.isIndex())
    return element.getIntOrFloatBitWidth();
  // A thread's own array is as narrow as what is stored in it.
  bool fits = memref.getDefiningOp<memref::AllocaOp>() && llvm::all_of(memref.getUsers(), [&](Operation *user) {
                auto store = dyn_cast<memref::StoreOp>(user);
                return isa<memref::LoadOp>(user) || (store && isNarrow(store.getValueToStore()));
              });
  return fits ? 32 : indexBits_;
}

unsigned Emitter::bitsOf(Value v) {
  if (!v.getType().isIndex())
    return v.getType().getIntOrFloatBitWidth();
  if (auto load = v.getDefiningOp<memref::LoadOp>()) // goes by its array's name where that keeps its value
    return bitsOfElement(load.getMemRef());
  return isNarrow(v) ? 32 : v.getDefiningOp<arith::ConstantOp>() ? 64 : indexBits_;
}

std::string Emitter::typeName(Value v) { return v.getType().isIndex() ? bitsOf(v) == 32 ? "int" : "long long" : typeName(v.getType()); }

namespace {
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

Expr Emitter::exprOf(OpOperand &use) {
  Expr named = slots_->find(use);
  return named.text.empty() ? expr(use.get()) : named;
}

std::string Emitter::operand(Value value, int atLeast) { return parenthesize(expr(value), atLeast); }

/// The least precedence of an operand that needs no parentheses to be read aright: `(a + b) ^ c`, `(a && b) || c`, `(a < b) == c`.
static int clearPrecedence(int precedence) {
  bool isBits = precedence == kShift || (precedence >= kBitOr && precedence <= kBitAnd);
  return isBits ? kUnary : precedence == kLogicalOr ? kEquality : precedence == kEquality ? kAdditive : precedence;
}

Expr Emitter::binary(Operation *op, const Infix &infix) {
  const int precedence = infix.precedence;
  const std::string symbol = std::string(" ") + infix.symbol + " ";
  Type type = op->getOperand(0).getType();
  // Signed overflow is undefined in C; the language's integers wrap. Indices cannot overflow.
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  bool stays = type.isIndex() || type.isInteger(1) || (flags && flags.hasNoSignedWrap());
  bool viaUnsigned = infix.isUnsigned || (infix.wraps && !stays);
  if (viaUnsigned) {
    std::string u = unsignedName(std::max(bitsOf(op->getOperand(0)), bitsOf(op->getOperand(1))));
    std::string text = "(" + u + ")" + operand(op->getOperand(0), kUnary) + symbol + "(" + u + ")" + operand(op->getOperand(1), kUnary);
    if (op->getResult(0).getType().isInteger(1))
      return {text, precedence};
    return {"(" + typeName(op->getResult(0)) + ")(" + text + ")", kUnary};
  }
  // Two ints make an int; what has more bits asks for them.
  if (op->getResult(0).getType().isIndex() && bitsOf(op->getResult(0)) > std::max(bitsOf(op->getOperand(0)), bitsOf(op->getOperand(1))))
    return {"(long long)" + operand(op->getOperand(0), kUnary) + symbol + operand(op->getOperand(1), precedence + 1), precedence};
  // (A sum behind a plus keeps its parentheses: which part loops do not change decides how many registers they take.)
  int least = clearPrecedence(precedence);
  Expr first = exprOf(op->getOpOperand(0));
  return {parenthesize(first, first.precedence == precedence ? precedence : least) + symbol +
              parenthesize(exprOf(op->getOpOperand(1)), std::max(least, precedence + 1)),
          precedence};
}

std::string Emitter::assignment(const std::string &target, Value value) {
  std::string text = expr(value).text;
  Operation *op = value.getDefiningOp();
  if (std::optional<Infix> infix = op && inlined_.contains(op) ? findInfix(op) : std::nullopt; infix && infix->isArithmetic()) {
    std::string symbol = infix->symbol;
    // (text that begins so has no cast or call around it)
    if (expr(op->getOperand(0)).text == target && StringRef(text).starts_with(target + " " + symbol + " "))
      return target + " " + symbol + "= " + expr(op->getOperand(1)).text + ";";
  }
  return target + " = " + text + ";";
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

Expr Emitter::mathCall(Operation *op) {
  Type type = op->getResult(0).getType();
  if (auto erfc = dyn_cast<math::ErfcOp>(op); erfc && type.isF32() && bitEnumContainsAny(erfc.getFastmath(), arith::FastMathFlags::afn))
    return helper("kc_erfc", op->getOperands());
  if (auto tanh = dyn_cast<math::TanhOp>(op); tanh && type.isF32() && bitEnumContainsAny(tanh.getFastmath(), arith::FastMathFlags::afn))
    return helper("kc_tanh", op->getOperands());
  if (auto exp2 = dyn_cast<math::Exp2Op>(op); exp2 && type.isF32() && bitEnumContainsAny(exp2.getFastmath(), arith::FastMathFlags::afn))
    return helper("kc_exp2", op->getOperands());
  StringRef base = findMathFunction(op);
  if (base.empty() || !(type.isF32() || type.isF64()))
    return {"", 0};
  return call(type.isF32() ? base.str() + "f" : base.str(), op->getOperands());
}

/// |x| of a test of x, and the infinity to compare it with.
std::string Emitter::magnitude(Operation *op) {
  return (op->getOperand(0).getType().isF64() ? "fabs(" : "fabsf(") + widened(op->getOperand(0)).text + ")";
}
std::string Emitter::infinityFor(Operation *op) { return infinity(!op->getOperand(0).getType().isF64(), false).text; }

/// What the device gives without memory: where a thread is, and what others hold.
Expr Emitter::deviceExpr(Operation *op) {
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<cu::ThreadIdOp>([&](auto) { return Expr{"(" + typeName(op->getResult(0)) + ")threadIdx.x", kUnary}; })
      .Case<cu::BlockIdOp>([&](auto) { return Expr{"(" + typeName(op->getResult(0)) + ")blockIdx.x", kUnary}; })
      .Case<cu::GridSizeOp>([&](auto) { return Expr{"(" + typeName(op->getResult(0)) + ")gridDim.x", kUnary}; })
      .Case<cu::WarpgroupOp>([&](auto) { return helper("kc_warpgroup", ValueRange()); })
      .Case<cu::LeaderOp>([&](auto) { return helper("kc_leader", ValueRange()); })
      .Case<cu::ClusterRankOp>([&](auto) { return Expr{"(int)" + helper("kc_cluster_rank", ValueRange()).text, kUnary}; })
      .Case<cu::ShuffleXorOp>([&](auto s) { return shuffle(s); })
      .Default([](Operation *) { return Expr{"", 0}; });
}

/// Loads, and what says where in shared memory something lies.
Expr Emitter::memoryExpr(Operation *op) {
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<memref::LoadOp>([&](memref::LoadOp l) {
        return Expr{l.getNontemporal() ? "__ldcs(" + address(l.getMemRef(), l.getIndices()) + ")" : element(l.getMemRef(), l.getIndices()),
                    kPrimary};
      })
      .Case<cu::SharedOp>([&](cu::SharedOp s) { return sharedArray(s); })
      .Case<cu::LookOp>([&](cu::LookOp l) { return look(l); })
      .Case<cu::ClusterLoadOp>([&](cu::ClusterLoadOp l) {
        Type type = l.getType();
        std::string name =
            std::string("kc_cluster_load_") + (isa<FloatType>(type) ? "f" : "i") + std::to_string(type.getIntOrFloatBitWidth());
        use(name);
        return Expr{name + "(" + address(l.getSource(), l.getIndex()) + ", " + operand(l.getBlock(), kConditional) + ")", kPrimary};
      })
      .Case<cu::SmemDescOp>([&](cu::SmemDescOp d) {
        use("kc_smem_desc");
        return Expr{"kc_smem_desc(" + address(d.getSource(), d.getIndex()) + ", " + std::to_string(d.getLeading()) + ", " +
                        std::to_string(d.getStride()) + ", " + std::to_string(d.getSwizzle()) + ")",
                    kPrimary};
      })
      .Case<cu::DescAdvanceOp>([&](auto) { return helper("kc_desc_advance", op->getOperands()); })
      .Default([](Operation *) { return Expr{"", 0}; });
}

/// Bits of a byte as a place in a table, of which four neighbours are masked at once.
Expr Emitter::look(cu::LookOp l) {
  for (StringRef name : {"kc_word", "kc_byte", "kc_look"})
    use(name);
  int64_t element = cast<MemRefType>(l.getTable().getType()).getElementTypeBitWidth() / 8;
  int64_t up = int64_t(llvm::Log2_64(uint64_t(element))) - int64_t(l.getShift());
  constexpr uint64_t kEachByte = 0x01010101;
  std::string at = operand(l.getIndex(), kConditional), word = "kc_word(" + operand(l.getBytes(), kPrimary) + ", " + at + ")";
  if (up != 0)
    word += (up > 0 ? " << " : " >> ") + std::to_string(std::abs(up));
  word += " & 0x" + llvm::utohexstr(uint64_t(l.getMask()) * uint64_t(element) * kEachByte, true) + "u";
  return {"kc_look(" + address(l.getTable(), l.getRow()) + ", kc_byte(" + word + ", " + at + "))", kPrimary};
}

Expr Emitter::shuffle(cu::ShuffleXorOp s) {
  Type t = s.getValue().getType();
  bool isNarrow = t.isInteger() && t.getIntOrFloatBitWidth() < 32; // what lanes exchange are 32 bits at least
  std::string text =
      "__shfl_xor_sync(0xffffffffu, " + (isNarrow ? "(int)" + operand(s.getValue(), kUnary) : operand(s.getValue(), kConditional)) + ", ";
  if (APInt step; s.getStep() && !matchPattern(s.getStep(), m_ConstantInt(&step)))
    text += std::to_string(s.getMask()) + " << " + operand(s.getStep(), kAdditive) + ")";
  else
    text += std::to_string(s.getMask() << (s.getStep() ? step.getZExtValue() : 0)) + ")";
  if (t.isInteger(1))
    return {text + " != 0", kEquality};
  return isNarrow ? Expr{"(" + typeName(t) + ")" + text, kUnary} : Expr{text, kPrimary};
}

/// Arithmetic that C writes as a call, a sign or a choice.
Expr Emitter::arithmeticExpr(Operation *op) {
  Type type = op->getNumResults() ? op->getResult(0).getType() : Type();
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<arith::ConstantOp>([&](auto c) { return constant(c.getValue()); })
      .Case<cu::OpaqueOp>([&](auto) { return helper("kc_opaque", op->getOperands()); })
      .Case<arith::NegFOp>([&](auto) { return Expr{"-" + operand(op->getOperand(0), kPrimary), kUnary}; })
      .Case<arith::RemFOp>([&](auto) { return call(type.isF32() ? "fmodf" : "fmod", op->getOperands()); })
      .Case<arith::MaximumFOp>([&](auto) { return helper(type.isF64() ? "kc_maximum_f64" : "kc_maximum", op->getOperands()); })
      .Case<arith::MinimumFOp>([&](auto) { return helper(type.isF64() ? "kc_minimum_f64" : "kc_minimum", op->getOperands()); })
      .Case<arith::MaxNumFOp>([&](auto) { return call(type.isF64() ? "fmax" : "fmaxf", op->getOperands()); })
      .Case<arith::MinNumFOp>([&](auto) { return call(type.isF64() ? "fmin" : "fminf", op->getOperands()); })
      .Case<arith::FloorDivSIOp>([&](auto) { return helper("kc_floordiv", op->getOperands()); })
      .Case<arith::CeilDivSIOp>([&](auto) { return helper("kc_ceildiv", op->getOperands()); })
      .Case<arith::MaxSIOp>([&](auto) { return call("max", op->getOperands()); })
      .Case<arith::MinSIOp>([&](auto) { return call("min", op->getOperands()); })
      .Case<arith::MaxUIOp, arith::MinUIOp>([&](auto) {
        std::string u = unsignedName(std::max(bitsOf(op->getOperand(0)), bitsOf(op->getOperand(1))));
        return Expr{"(" + typeName(op->getResult(0)) + ")" + (isa<arith::MaxUIOp>(op) ? "max((" : "min((") + u + ")" +
                        operand(op->getOperand(0), kUnary) + ", (" + u + ")" + operand(op->getOperand(1), kUnary) + ")",
                    kUnary};
      })
      .Case<arith::CmpFOp>([&](auto c) { return negatedComparison(c); })
      .Case<arith::SelectOp>([&](arith::SelectOp s) {
        return Expr{operand(s.getCondition(), kLogicalOr) + " ? " + operand(s.getTrueValue(), kLogicalOr) + " : " +
                        operand(s.getFalseValue(), kConditional),
                    kConditional};
      })
      .Case<math::AbsIOp>([&](auto) { return call("abs", op->getOperands()); })
      .Case<math::CtPopOp>([&](auto) { return call(type.isInteger(64) ? "__popcll" : "__popc", op->getOperands()); })
      .Case<math::IsNaNOp>([&](auto) {
        std::string a = parenthesize(widened(op->getOperand(0)), kRelational);
        return Expr{a + " != " + a, kEquality};
      })
      .Case<math::IsInfOp>([&](auto) { return Expr{magnitude(op) + " == " + infinityFor(op), kEquality}; })
      .Case<math::IsFiniteOp>([&](auto) { return Expr{magnitude(op) + " < " + infinityFor(op), kRelational}; })
      .Default([](Operation *) { return Expr{"", 0}; });
}

/// The comparisons of floats that C has no operator for: by negation, or by two.
Expr Emitter::negatedComparison(arith::CmpFOp c) {
  using P = arith::CmpFPredicate;
  auto negation = [&](P of) {
    return Expr{"!(" + operand(c.getLhs(), kRelational) + " " + findComparison(of) + " " + operand(c.getRhs(), kAdditive) + ")", kUnary};
  };
  switch (c.getPredicate()) {
  case P::UGE: return negation(P::OLT);
  case P::UGT: return negation(P::OLE);
  case P::ULE: return negation(P::OGT);
  case P::ULT: return negation(P::OGE);
  case P::UNO:
  case P::ORD: {
    std::string a = operand(c.getLhs(), kRelational), b = operand(c.getRhs(), kRelational);
    bool isUnordered = c.getPredicate() == P::UNO;
    if (c.getLhs() == c.getRhs())
      return {a + (isUnordered ? " != " : " == ") + a, kEquality};
    return isUnordered ? Expr{a + " != " + a + " || " + b + " != " + b, kLogicalOr}
                       : Expr{a + " == " + a + " && " + b + " == " + b, kLogicalAnd};
  }
  case P::ONE:
  case P::UEQ: {
    std::string a = operand(c.getLhs(), kAdditive), b = operand(c.getRhs(), kAdditive);
    std::string apart = a + " < " + b + " || " + a + " > " + b;
    return c.getPredicate() == P::ONE ? Expr{apart, kLogicalOr} : Expr{"!(" + apart + ")", kUnary};
  }
  default: return {"", 0};
  }
}

/// Whether `op` divides by a number for which kc_divide_by is right: one of which cu-shared-divisors has asked, or a constant. By a power
/// of two a compiler multiplies.
static bool isDividedByKnown(Operation *op) {
  APFloat c(0.0f);
  auto division = dyn_cast<arith::DivFOp>(op);
  if (!division || !division.getType().isF32())
    return false;
  if (!matchPattern(division.getRhs(), m_ConstantFloat(&c)))
    return bitEnumContainsAll(division.getFastmath(), arith::FastMathFlags::arcp);
  float size = std::fabs(c.convertToFloat());
  return size >= 1.0f && size <= 0x1p100f && c.getExactLog2Abs() == INT_MIN;
}

/// The C expression of a pure scalar op; empty text when it has none.
Expr Emitter::makeExpr(Operation *op) {
  if (auto product = dyn_cast<arith::MulIOp>(op); product && product.getType().isIndex() && getConstantIntValue(product.getRhs()) == -1) {
    std::string text = operand(product.getLhs(), kUnary);
    if (bitsOf(product.getLhs()) >= bitsOf(product))
      return {StringRef(text).starts_with("-") ? "-(" + text + ")" : "-" + text, kUnary};
  }
  if (isDividedByKnown(op))
    return helper("kc_divide_by", op->getOperands());
  if (std::optional<Infix> infix = findInfix(op))
    return binary(op, *infix);
  for (auto spell : {&Emitter::arithmeticExpr, &Emitter::memoryExpr, &Emitter::deviceExpr, &Emitter::conversion, &Emitter::mathCall})
    if (Expr e = (this->*spell)(op); !e.text.empty())
      return e;
  return {"", 0};
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

/// Whether NVRTC knows the value once it has unrolled the loops around it.
static bool isNumberOnceUnrolled(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op)
    return cu::isUnrolledVariable(v);
  return isa<arith::ConstantOp>(op) || (v.getType().isIndex() && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
                                        isMemoryEffectFree(op) && llvm::all_of(op->getOperands(), isNumberOnceUnrolled));
}

std::string Emitter::addressAndNumber(Value memref, ValueRange indices) {
  auto sum = indices.size() == 1 ? indices[0].getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  if (!sum || !inlined_.contains(sum) || !isNumberOnceUnrolled(sum.getRhs()) || isNumberOnceUnrolled(sum.getLhs()))
    return address(memref, indices);
  return address(memref, sum.getLhs()) + " + " + operand(sum.getRhs(), kAdditive + 1);
}

} // namespace kernelc::codegen

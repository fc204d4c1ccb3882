// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between the types of the CUDA text: casts of C where it has them, helpers where the language's rounding differs.
#include "codegen/Emitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

/// The value that a cast to `bits` bits may be of in place of `v`: casts in `v` that are written where they are used, and that keep these
/// bits, say nothing.
Value Emitter::beneathCasts(Value v, unsigned bits) {
  for (Operation *op = v.getDefiningOp(); op && inlined_.contains(op); op = v.getDefiningOp()) {
    if (!isa<arith::TruncIOp, arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
      break;
    Value from = op->getOperand(0);
    if (bitsInC(v) < bits || bitsInC(from) < bits)
      break;
    v = from;
  }
  return v;
}

Expr Emitter::cast(Operation *op, StringRef type) { return {"(" + type.str() + ")" + operand(op->getOperand(0), kUnary), kUnary}; }

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

Expr Emitter::truncateInteger(Operation *op) {
  Type type = op->getResult(0).getType();
  Value of = beneathCasts(op->getOperand(0), bitsOf(op->getResult(0)));
  if (of.getType().isIndex() && type.isInteger(32) && bitsInC(of) == 32) // an int already
    return expr(of);
  return {"(" + typeName(type) + ")" + operand(of, kUnary), kUnary};
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
  if (isa<Float8E4M3FNType, Float8E5M2Type>(to)) {
    std::string name = isa<Float8E4M3FNType>(to) ? "kc_f32_to_e4m3" : "kc_f32_to_e5m2";
    if (!from.isF64())
      return helper(name, op.getInput());
    use(name);
    return {name + "(" + helper("kc_round_odd", op.getInput()).text + ")", kPrimary};
  }
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

Expr Emitter::extendFloat(arith::ExtFOp op) {
  Type type = op.getType();
  Expr wide = widened(op.getIn());
  if (!type.isF64() || wide.text.empty())
    return type.isF32() || type.isF64() ? wide : Expr{"", 0};
  return {"(double)" + parenthesize(wide, kUnary), kUnary};
}

Expr Emitter::truncateFloat(arith::TruncFOp op) {
  Type type = op.getType();
  if (type.isF32())
    return cast(op, "float");
  StringRef name = type.isBF16() ? "kc_f32_to_bf16" : type.isF16() ? "kc_f32_to_f16" : "";
  if (name.empty())
    return {"", 0};
  use(name);
  if (!op.getIn().getType().isF64())
    return call(name, op.getIn());
  return {name.str() + "(" + helper("kc_round_odd", op.getIn()).text + ")", kPrimary};
}

Expr Emitter::unsignedToFloat(arith::UIToFPOp op) {
  Type type = op.getType();
  if (!type.isF32() && !type.isF64())
    return integerToHalf(op, true);
  if (op.getIn().getType().isInteger(1))
    return {operand(op.getIn(), kLogicalOr) + (type.isF32() ? " ? 1.0f : 0.0f" : " ? 1.0 : 0.0"), kConditional};
  return {"(" + typeName(type) + ")(" + unsignedName(bitsOf(op.getIn())) + ")" + operand(op.getIn(), kUnary), kUnary};
}

/// The same bits as another type.
Expr Emitter::bitcast(arith::BitcastOp op) {
  Type from = op.getIn().getType(), type = op.getType();
  StringRef f = from.isF32() && type.isInteger(32)   ? "__float_as_int"
                : from.isInteger(32) && type.isF32() ? "__int_as_float"
                : from.isF64() && type.isInteger(64) ? "__double_as_longlong"
                : from.isInteger(64) && type.isF64() ? "__longlong_as_double"
                                                     : "";
  return f.empty() ? Expr{"", 0} : call(f, op->getOperands());
}

Expr Emitter::conversion(Operation *op) {
  Type type = op->getNumResults() ? op->getResult(0).getType() : Type();
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<cu::ConvertOp>([&](auto c) { return convert(c); })
      .Case<arith::ExtFOp>([&](auto c) { return extendFloat(c); })
      .Case<arith::TruncFOp>([&](auto c) { return truncateFloat(c); })
      .Case<arith::SIToFPOp>([&](auto o) {
        // An int that was widened for the conversion is the same number without.
        auto wide = o.getIn().template getDefiningOp<arith::IndexCastOp>();
        if (wide && inlined_.contains(wide) && wide.getIn().getType().isIndex() && bitsInC(wide.getIn()) <= 32 && bitsOf(wide) >= 32 &&
            (type.isF32() || type.isF64()))
          return Expr{"(" + typeName(type) + ")" + operand(wide.getIn(), kUnary), kUnary};
        return type.isF32() || type.isF64() ? cast(op, typeName(type)) : integerToHalf(op, false);
      })
      .Case<arith::UIToFPOp>([&](auto c) { return unsignedToFloat(c); })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) {
        if (type.isInteger(1))
          return Expr{"(" + operand(op->getOperand(0), kBitAnd + 1) + " & 1) != 0", kEquality};
        return op->getOperand(0).getType().isInteger(1) ? Expr{operand(op->getOperand(0), kLogicalOr) + " ? -1 : 0", kConditional}
               : isa<arith::TruncIOp>(op)               ? truncateInteger(op)
                                                        : cast(op, typeName(op->getResult(0)));
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        if (op->getOperand(0).getType().isInteger(1))
          return Expr{operand(op->getOperand(0), kLogicalOr) + " ? 1 : 0", kConditional};
        unsigned bits = bitsOf(op->getOperand(0));
        return Expr{"(" + typeName(op->getResult(0)) + ")(" + unsignedName(bits) + ")" +
                        operand(beneathCasts(op->getOperand(0), bits), kUnary),
                    kUnary};
      })
      .Case<arith::BitcastOp>([&](auto c) { return bitcast(c); })
      .Default([](Operation *) { return Expr{"", 0}; });
}

} // namespace kernelc::codegen

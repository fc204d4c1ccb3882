// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/NarrowFloats.h"

#include <cmath>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

using arith::CmpIPredicate;

Value add(Builder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value addc(Builder &b, Value x, int64_t c) { return add(b, x, constInt(b, x.getType(), c)); }
Value andc(Builder &b, Value x, int64_t c) { return arith::AndIOp::create(b, x, constInt(b, x.getType(), c)); }
Value orr(Builder &b, Value x, Value y) { return arith::OrIOp::create(b, x, y); }
Value shr(Builder &b, Value x, int64_t c) { return arith::ShRUIOp::create(b, x, constInt(b, x.getType(), c)); }
Value shl(Builder &b, Value x, int64_t c) { return arith::ShLIOp::create(b, x, constInt(b, x.getType(), c)); }
Value sel(Builder &b, Value c, Value t, Value f) { return arith::SelectOp::create(b, c, t, f); }
Value cmpc(Builder &b, CmpIPredicate p, Value x, int64_t c) { return arith::CmpIOp::create(b, p, x, constInt(b, x.getType(), c)); }
Value bitcast(Builder &b, Type scalar, Value v) { return LLVM::BitcastOp::create(b, shapedLike(scalar, v.getType()), v); }

/// Adds half an ulp of bit `drop` (ties to even) and cuts the bits below it off.
Value roundBits(Builder &b, Value bits, int drop) {
  Value odd = andc(b, shr(b, bits, drop), 1);
  return shr(b, add(b, addc(b, bits, (int64_t(1) << (drop - 1)) - 1), odd), drop);
}

struct F8 {
  int mantissa, bias;
  int64_t maxFinite, nan;
  const char *fromF64;
};
F8 f8(Type t) {
  if (isa<Float8E4M3FNType>(t))
    return {3, 7, 0x7e, 0x7f, "kc_f64_to_f8e4m3"};
  return {2, 15, 0x7b, 0x7e, "kc_f64_to_f8e5m2"};
}

Value f32ToF8(Builder &b, Value v, Type to) {
  F8 f = f8(to);
  Type i32 = b.getI32Type();
  Value bits = bitcast(b, i32, v);
  Value sign = andc(b, shr(b, bits, 24), 0x80);
  Value mag = andc(b, bits, 0x7fffffff);
  int drop = 23 - f.mantissa;
  Value normal = addc(b, roundBits(b, mag, drop), -(int64_t(127 - f.bias) << f.mantissa));
  // Subnormals: adding a power of two whose last place is theirs makes the FPU round.
  double magic = std::ldexp(1.0, 23 + 1 - f.bias - f.mantissa);
  Value magnitude = bitcast(b, b.getF32Type(), mag);
  Value shifted = arith::AddFOp::create(b, magnitude, constFloat(b, v.getType(), magic));
  Value magicBits = bitcast(b, i32, constFloat(b, v.getType(), magic));
  Value subnormal = arith::SubIOp::create(b, bitcast(b, i32, shifted), magicBits);
  Value isSub = cmpc(b, CmpIPredicate::ult, mag, int64_t(127 + 1 - f.bias) << 23);
  Value r = sel(b, isSub, subnormal, normal);
  r = arith::MinSIOp::create(b, r, constInt(b, r.getType(), f.maxFinite));
  r = sel(b, cmpc(b, CmpIPredicate::ugt, mag, 0x7f800000), constInt(b, r.getType(), f.nan), r);
  return arith::TruncIOp::create(b, shapedLike(b.getI8Type(), r.getType()), orr(b, r, sign));
}

Value f8ToF32(Builder &b, Value bits, Type from) {
  F8 f = f8(from);
  Type i32 = shapedLike(b.getI32Type(), bits.getType()), f32 = shapedLike(b.getF32Type(), bits.getType());
  Value wide = arith::ExtUIOp::create(b, i32, bits);
  Value sign = shl(b, andc(b, wide, 0x80), 24);
  Value mag = andc(b, wide, 0x7f);
  // Put the fields in f32's places, then one exact multiplication corrects the bias;
  // it also normalises subnormals.
  Value placed = bitcast(b, b.getF32Type(), shl(b, mag, 23 - f.mantissa));
  Value scaled = arith::MulFOp::create(b, placed, constFloat(b, f32, std::ldexp(1.0, 127 - f.bias)));
  Value r = bitcast(b, b.getI32Type(), scaled);
  if (isa<Float8E5M2Type>(from))
    r = sel(b, cmpc(b, CmpIPredicate::eq, mag, 0x7c), constInt(b, i32, 0x7f800000), r);
  r = sel(b, cmpc(b, CmpIPredicate::ugt, mag, isa<Float8E5M2Type>(from) ? 0x7c : 0x7e), constInt(b, i32, 0x7fc00000), r);
  return bitcast(b, b.getF32Type(), orr(b, r, sign));
}

Value f32ToBF16(Builder &b, Value v) {
  Value bits = bitcast(b, b.getI32Type(), v);
  Value isNan = cmpc(b, CmpIPredicate::ugt, andc(b, bits, 0x7fffffff), 0x7f800000);
  Value nan = arith::OrIOp::create(b, andc(b, shr(b, bits, 16), 0x8000), constInt(b, bits.getType(), 0x7fc0));
  Value r = sel(b, isNan, nan, roundBits(b, bits, 16));
  return arith::TruncIOp::create(b, shapedLike(b.getI16Type(), r.getType()), r);
}

} // namespace

bool isNarrowFloat(Type type) { return isa<BFloat16Type, Float16Type, Float8E4M3FNType, Float8E5M2Type>(type); }

Type carrierType(Type type) {
  if (isa<BFloat16Type>(type))
    return IntegerType::get(type.getContext(), 16);
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return IntegerType::get(type.getContext(), 8);
  return type;
}

FloatFacts floatFacts(Type type) {
  if (type.isF64())
    return {0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023, false};
  if (type.isF32())
    return {0x1p-24, 0x1p-149, 0x1.fffffep127, false};
  if (isa<FloatTF32Type>(type))
    return {0x1p-11, 0x1p-136, 0x1.ffcp127, false};
  if (type.isF16())
    return {0x1p-11, 0x1p-24, 65504, false};
  if (type.isBF16())
    return {0x1p-8, 0x1p-133, 0x1.fep127, false};
  if (isa<Float8E4M3FNType>(type))
    return {0x1p-4, 0x1p-9, 448, true};
  return {0x1p-3, 0x1p-16, 57344, true};
}

Value widenFloat(Builder &b, Value bits, Type from, Type to) {
  Type target = shapedLike(to, bits.getType());
  if (from.isF32() || from.isF64() || from.isF16())
    return from == to ? bits : Value(LLVM::FPExtOp::create(b, target, bits));
  Value wide;
  if (from.isBF16())
    wide = bitcast(b, b.getF32Type(), shl(b, arith::ExtUIOp::create(b, shapedLike(b.getI32Type(), bits.getType()), bits), 16));
  else
    wide = f8ToF32(b, bits, from);
  return to.isF32() ? wide : Value(LLVM::FPExtOp::create(b, target, wide));
}

Value narrowFloat(Builder &b, Value v, Type to) {
  Type from = getElementTypeOrSelf(v.getType());
  if (from == to)
    return v;
  Type target = shapedLike(carrierType(to), v.getType());
  if (to.isF16() || to.isF32())
    return LLVM::FPTruncOp::create(b, target, v);
  if (from.isF64())
    return callPure(b, to.isBF16() ? "kc_f64_to_bf16" : f8(to).fromF64, target, v);
  return to.isBF16() ? f32ToBF16(b, v) : f32ToF8(b, v, to);
}

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/tile/TileScalars.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "support/ElementType.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace kernelc::reference {

double roundedTo(Type type, double v) {
  if (type.isF32())
    return float(v);
  if (type.isF16())
    return fromF16(toF16(v));
  if (type.isBF16())
    return fromBF16(toBF16(v));
  if (isa<Float8E4M3FNType>(type))
    return fromF8E4M3(toF8E4M3(v));
  if (isa<Float8E5M2Type>(type))
    return fromF8E5M2(toF8E5M2(v));
  return v;
}

double roundedToTf32(double v) {
  uint32_t bits = std::bit_cast<uint32_t>(float(v));
  return std::isnan(v) ? v : std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

namespace {

using E = TileElement;
using F1 = double (*)(double);
using F2 = double (*)(double, double);
using I2 = int64_t (*)(int64_t, int64_t);

E whole(int64_t v) { return {.i = v}; }
E real(double v) { return {.f = v}; }

const llvm::StringMap<F1> &unaryFloats() {
  static const llvm::StringMap<F1> table = {{"arith.negf", +[](double x) { return -x; }},
                                            {"math.absf", +[](double x) { return std::fabs(x); }},
                                            {"math.acos", +[](double x) { return std::acos(x); }},
                                            {"math.acosh", +[](double x) { return std::acosh(x); }},
                                            {"math.asin", +[](double x) { return std::asin(x); }},
                                            {"math.asinh", +[](double x) { return std::asinh(x); }},
                                            {"math.atan", +[](double x) { return std::atan(x); }},
                                            {"math.atanh", +[](double x) { return std::atanh(x); }},
                                            {"math.cbrt", +[](double x) { return std::cbrt(x); }},
                                            {"math.ceil", +[](double x) { return std::ceil(x); }},
                                            {"math.cos", +[](double x) { return std::cos(x); }},
                                            {"math.cosh", +[](double x) { return std::cosh(x); }},
                                            {"math.erf", +[](double x) { return std::erf(x); }},
                                            {"math.erfc", +[](double x) { return std::erfc(x); }},
                                            {"math.exp", +[](double x) { return std::exp(x); }},
                                            {"math.exp2", +[](double x) { return std::exp2(x); }},
                                            {"math.expm1", +[](double x) { return std::expm1(x); }},
                                            {"math.floor", +[](double x) { return std::floor(x); }},
                                            {"math.log", +[](double x) { return std::log(x); }},
                                            {"math.log10", +[](double x) { return std::log10(x); }},
                                            {"math.log1p", +[](double x) { return std::log1p(x); }},
                                            {"math.log2", +[](double x) { return std::log2(x); }},
                                            {"math.round", +[](double x) { return std::round(x); }},
                                            {"math.roundeven", +[](double x) { return std::nearbyint(x); }},
                                            {"math.rsqrt", +[](double x) { return 1.0 / std::sqrt(x); }},
                                            {"math.sin", +[](double x) { return std::sin(x); }},
                                            {"math.sinh", +[](double x) { return std::sinh(x); }},
                                            {"math.sqrt", +[](double x) { return std::sqrt(x); }},
                                            {"math.tan", +[](double x) { return std::tan(x); }},
                                            {"math.tanh", +[](double x) { return std::tanh(x); }},
                                            {"math.trunc", +[](double x) { return std::trunc(x); }}};
  return table;
}

const llvm::StringMap<F2> &binaryFloats() {
  static const llvm::StringMap<F2> table = {
      {"arith.addf", +[](double x, double y) { return x + y; }},
      {"arith.subf", +[](double x, double y) { return x - y; }},
      {"arith.mulf", +[](double x, double y) { return x * y; }},
      {"tile.scale", +[](double x, double y) { return x * y; }},
      {"arith.divf", +[](double x, double y) { return x / y; }},
      {"arith.remf", +[](double x, double y) { return std::fmod(x, y); }},
      {"arith.maximumf", +[](double x, double y) { return std::isnan(x) || x > y || (x == y && !std::signbit(x)) ? x : y; }},
      {"arith.minimumf", +[](double x, double y) { return std::isnan(x) || x < y || (x == y && std::signbit(x)) ? x : y; }},
      {"arith.maxnumf", +[](double x, double y) { return std::fmax(x, y); }},
      {"arith.minnumf", +[](double x, double y) { return std::fmin(x, y); }},
      {"math.atan2", +[](double x, double y) { return std::atan2(x, y); }},
      {"math.copysign", +[](double x, double y) { return std::copysign(x, y); }},
      {"math.powf", +[](double x, double y) { return std::pow(x, y); }}};
  return table;
}

int64_t quotient(int64_t a, int64_t b) { return b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()) ? 0 : a / b; }
int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

/// Signed ones on sign-extended operands.
const llvm::StringMap<I2> &signedIntegers() {
  static const llvm::StringMap<I2> table = {
      {"arith.addi", +[](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }},
      {"arith.subi", +[](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }},
      {"arith.muli", +[](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }},
      {"arith.andi", +[](int64_t a, int64_t b) { return a & b; }},
      {"arith.ori", +[](int64_t a, int64_t b) { return a | b; }},
      {"arith.xori", +[](int64_t a, int64_t b) { return a ^ b; }},
      {"arith.divsi", quotient},
      {"arith.remsi", remainder},
      {"arith.floordivsi", +[](int64_t a, int64_t b) { return quotient(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0)); }},
      {"arith.ceildivsi", +[](int64_t a, int64_t b) { return quotient(a, b) + (remainder(a, b) != 0 && (a < 0) == (b < 0)); }},
      {"arith.maxsi", +[](int64_t a, int64_t b) { return std::max(a, b); }},
      {"arith.minsi", +[](int64_t a, int64_t b) { return std::min(a, b); }}};
  return table;
}

/// Unsigned ones on zero-extended operands.
using U2 = uint64_t (*)(uint64_t, uint64_t);
const llvm::StringMap<U2> &unsignedIntegers() {
  static const llvm::StringMap<U2> table = {{"arith.divui", +[](uint64_t a, uint64_t b) { return b ? a / b : 0; }},
                                            {"arith.remui", +[](uint64_t a, uint64_t b) { return b ? a % b : 0; }},
                                            {"arith.ceildivui", +[](uint64_t a, uint64_t b) { return b ? a / b + (a % b != 0) : 0; }},
                                            {"arith.maxui", +[](uint64_t a, uint64_t b) { return std::max(a, b); }},
                                            {"arith.minui", +[](uint64_t a, uint64_t b) { return std::min(a, b); }}};
  return table;
}

uint64_t zeroExtended(int64_t v, unsigned width) { return width >= 64 ? uint64_t(v) : uint64_t(v) & ((uint64_t(1) << width) - 1); }

ScalarFunction compareIntegers(arith::CmpIOp op) {
  unsigned w = widthOf(getElementTypeOrSelf(op.getLhs()));
  auto p = op.getPredicate();
  return [=](const E *x) {
    int64_t a = x[0].i, b = x[1].i;
    uint64_t ua = zeroExtended(a, w), ub = zeroExtended(b, w);
    switch (p) {
    case arith::CmpIPredicate::eq: return whole(a == b);
    case arith::CmpIPredicate::ne: return whole(a != b);
    case arith::CmpIPredicate::slt: return whole(a < b);
    case arith::CmpIPredicate::sle: return whole(a <= b);
    case arith::CmpIPredicate::sgt: return whole(a > b);
    case arith::CmpIPredicate::sge: return whole(a >= b);
    case arith::CmpIPredicate::ult: return whole(ua < ub);
    case arith::CmpIPredicate::ule: return whole(ua <= ub);
    case arith::CmpIPredicate::ugt: return whole(ua > ub);
    case arith::CmpIPredicate::uge: return whole(ua >= ub);
    }
    return whole(0);
  };
}

ScalarFunction compareFloats(arith::CmpFOp op) {
  unsigned p = unsigned(op.getPredicate());
  // Bits: equal, greater, less, unordered, in the order of the enumeration.
  return [=](const E *x) {
    double a = x[0].f, b = x[1].f;
    bool unordered = std::isnan(a) || std::isnan(b);
    switch (arith::CmpFPredicate(p)) {
    case arith::CmpFPredicate::AlwaysFalse: return whole(0);
    case arith::CmpFPredicate::OEQ: return whole(!unordered && a == b);
    case arith::CmpFPredicate::OGT: return whole(!unordered && a > b);
    case arith::CmpFPredicate::OGE: return whole(!unordered && a >= b);
    case arith::CmpFPredicate::OLT: return whole(!unordered && a < b);
    case arith::CmpFPredicate::OLE: return whole(!unordered && a <= b);
    case arith::CmpFPredicate::ONE: return whole(!unordered && a != b);
    case arith::CmpFPredicate::ORD: return whole(!unordered);
    case arith::CmpFPredicate::UEQ: return whole(unordered || a == b);
    case arith::CmpFPredicate::UGT: return whole(unordered || a > b);
    case arith::CmpFPredicate::UGE: return whole(unordered || a >= b);
    case arith::CmpFPredicate::ULT: return whole(unordered || a < b);
    case arith::CmpFPredicate::ULE: return whole(unordered || a <= b);
    case arith::CmpFPredicate::UNE: return whole(unordered || a != b);
    case arith::CmpFPredicate::UNO: return whole(unordered);
    case arith::CmpFPredicate::AlwaysTrue: return whole(1);
    }
    return whole(0);
  };
}

/// The bits of `v` in `type`, and back.
int64_t bitsOf(Type type, E v) {
  if (!isa<FloatType>(type))
    return v.i;
  if (type.isF64())
    return std::bit_cast<int64_t>(v.f);
  if (type.isF32())
    return std::bit_cast<int32_t>(float(v.f));
  if (type.isF16())
    return int16_t(toF16(v.f));
  if (type.isBF16())
    return int16_t(toBF16(v.f));
  return int8_t(isa<Float8E4M3FNType>(type) ? toF8E4M3(v.f) : toF8E5M2(v.f));
}
E fromBits(Type type, int64_t bits) {
  if (!isa<FloatType>(type))
    return whole(wrapped(bits, widthOf(type)));
  if (type.isF64())
    return real(std::bit_cast<double>(bits));
  if (type.isF32())
    return real(std::bit_cast<float>(int32_t(bits)));
  if (type.isF16())
    return real(fromF16(uint16_t(bits)));
  if (type.isBF16())
    return real(fromBF16(uint16_t(bits)));
  return real(isa<Float8E4M3FNType>(type) ? fromF8E4M3(uint8_t(bits)) : fromF8E5M2(uint8_t(bits)));
}

int64_t truncated(double v, unsigned width, bool isUnsigned) {
  if (std::isnan(v))
    return 0;
  double low = isUnsigned ? 0.0 : -std::ldexp(1.0, int(width) - 1), high = std::ldexp(1.0, isUnsigned ? int(width) : int(width) - 1);
  if (v <= low)
    return isUnsigned ? 0 : wrapped(int64_t(uint64_t(1) << (width - 1)), width);
  if (v >= high)
    return isUnsigned ? wrapped(-1, width) : int64_t((uint64_t(1) << (width - 1)) - 1);
  return wrapped(isUnsigned ? int64_t(uint64_t(v)) : int64_t(v), width);
}

ScalarFunction fromInteger(Type from, Type to, bool isUnsigned) {
  unsigned w = widthOf(from);
  return [=](const E *x) {
    uint64_t u = zeroExtended(x[0].i, w);
    if (to.isF32()) // rounded once
      return real(isUnsigned ? float(u) : float(w == 1 ? -x[0].i : x[0].i));
    return real(roundedTo(to, isUnsigned ? double(u) : double(w == 1 ? -x[0].i : x[0].i)));
  };
}

/// Float ops on integers modulo 2^32.
ScalarFunction ringFunction(Operation *op) {
  auto ring = [](auto fn) -> ScalarFunction { return [=](const E *x) { return whole(wrapped(fn(x), 32)); }; };
  if (isa<arith::AddFOp>(op))
    return ring([](const E *x) { return x[0].i + x[1].i; });
  if (isa<arith::SubFOp>(op))
    return ring([](const E *x) { return x[0].i - x[1].i; });
  if (isa<arith::MulFOp, tile::ScaleOp>(op))
    return ring([](const E *x) { return int64_t(uint64_t(x[0].i) * uint64_t(x[1].i)); });
  if (isa<arith::NegFOp>(op))
    return ring([](const E *x) { return -x[0].i; });
  if (isa<math::FmaOp>(op))
    return ring([](const E *x) { return int64_t(uint64_t(x[0].i) * uint64_t(x[1].i) + uint64_t(x[2].i)); });
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp>(op))
    return ring([](const E *x) { return x[0].i; });
  if (isa<arith::UIToFPOp>(op)) {
    unsigned w = widthOf(getElementTypeOrSelf(op->getOperand(0)));
    return ring([=](const E *x) { return int64_t(zeroExtended(x[0].i, w)); });
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op); compare && compare.getPredicate() == arith::CmpFPredicate::UNO)
    return [](const E *) { return whole(0); }; // there is no NaN
  return {};
}

ScalarFunction integerFunction(Operation *op, Type in, Type out) {
  unsigned w = widthOf(in), to = widthOf(out);
  StringRef name = op->getName().getStringRef();
  if (auto it = signedIntegers().find(name); it != signedIntegers().end()) {
    I2 f = it->second;
    return [=](const E *x) { return whole(wrapped(f(x[0].i, x[1].i), to)); };
  }
  if (auto it = unsignedIntegers().find(name); it != unsignedIntegers().end()) {
    U2 f = it->second;
    return [=](const E *x) { return whole(wrapped(int64_t(f(zeroExtended(x[0].i, w), zeroExtended(x[1].i, w))), to)); };
  }
  if (isa<arith::ShLIOp>(op))
    return [=](const E *x) { return whole(wrapped(int64_t(uint64_t(x[0].i) << (x[1].i & (w - 1))), w)); };
  if (isa<arith::ShRSIOp>(op))
    return [=](const E *x) { return whole(x[0].i >> (x[1].i & (w - 1))); };
  if (isa<arith::ShRUIOp>(op))
    return [=](const E *x) { return whole(wrapped(int64_t(zeroExtended(x[0].i, w) >> (x[1].i & (w - 1))), w)); };
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op)) // an i1 that is extended by its sign is 0 or -1
    return [=](const E *x) { return whole(wrapped(w == 1 ? -x[0].i : x[0].i, to)); };
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return [=](const E *x) { return whole(wrapped(int64_t(zeroExtended(x[0].i, w)), to)); };
  if (isa<arith::TruncIOp>(op))
    return [=](const E *x) { return whole(wrapped(x[0].i, to)); };
  if (isa<math::AbsIOp>(op))
    return [=](const E *x) { return whole(wrapped(x[0].i < 0 ? -x[0].i : x[0].i, w)); };
  if (isa<math::CtPopOp>(op))
    return [=](const E *x) { return whole(std::popcount(zeroExtended(x[0].i, w))); };
  if (isa<math::IPowIOp>(op))
    return [=](const E *x) {
      int64_t base = x[0].i, n = x[1].i;
      if (n < 0)
        return whole(base == 1 ? 1 : base == -1 ? (n & 1 ? -1 : 1) : 0);
      uint64_t r = 1;
      for (uint64_t b = uint64_t(base); n; n >>= 1, b *= b)
        r *= n & 1 ? b : 1;
      return whole(wrapped(int64_t(r), w));
    };
  return {};
}

} // namespace

bool findConstant(Attribute attribute, TileArithmetic arithmetic, TileElement &element) {
  if (auto f = dyn_cast<FloatAttr>(attribute)) {
    double v = f.getValueAsDouble();
    element = arithmetic == TileArithmetic::Ring ? whole(wrapped(int64_t(std::fabs(v) < 9e18 ? v : 0), 32)) : real(v);
    return arithmetic == TileArithmetic::Own || (std::trunc(v) == v && std::fabs(v) < 9e18);
  }
  if (auto i = dyn_cast<IntegerAttr>(attribute)) {
    unsigned width = i.getType().isIndex() ? 64 : i.getType().getIntOrFloatBitWidth();
    element = whole(wrapped(int64_t(i.getValue().getZExtValue()), width));
    return true;
  }
  return false;
}

ScalarFunction convertFunction(Type from, Type to, bool toUnsigned, TileArithmetic arithmetic) {
  if (arithmetic == TileArithmetic::Ring)
    return isa<FloatType>(from) && isa<FloatType>(to) ? ScalarFunction([](const E *x) { return x[0]; }) : ScalarFunction();
  if (!isa<FloatType>(to)) {
    unsigned w = widthOf(to);
    return [=](const E *x) { return whole(truncated(x[0].f, w, toUnsigned)); };
  }
  double largest = to.isF16() ? 65504.0 : to.isBF16() ? 0x1.fep127 : to.isF32() ? 0x1.fffffep127 : std::numeric_limits<double>::infinity();
  return [=](const E *x) { return real(roundedTo(to, std::isnan(x[0].f) ? x[0].f : std::max(-largest, std::min(largest, x[0].f)))); };
}

ScalarFunction findScalarFunction(Operation *op, TileArithmetic arithmetic) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return {};
  Type in = getElementTypeOrSelf(op->getOperand(0)), out = getElementTypeOrSelf(op->getResult(0));
  bool ring = arithmetic == TileArithmetic::Ring;
  if (isa<arith::SelectOp>(op))
    return [](const E *x) { return x[0].i ? x[1] : x[2]; };
  if (ring && (isa<FloatType>(in) || isa<FloatType>(out)))
    return ringFunction(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare);
  if (isa<arith::BitcastOp>(op))
    return [=](const E *x) { return fromBits(out, bitsOf(in, x[0])); };
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return fromInteger(in, out, isa<arith::UIToFPOp>(op));
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return convertFunction(in, out, isa<arith::FPToUIOp>(op), arithmetic);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return [=](const E *x) { return real(roundedTo(out, x[0].f)); };
  if (isa<math::FmaOp>(op))
    return [=](const E *x) { return real(roundedTo(out, std::fma(x[0].f, x[1].f, x[2].f))); };
  if (isa<math::FPowIOp>(op))
    return [=](const E *x) { return real(roundedTo(out, std::pow(x[0].f, double(x[1].i)))); };
  if (isa<math::IsNaNOp>(op))
    return [](const E *x) { return whole(std::isnan(x[0].f)); };
  if (isa<math::IsInfOp>(op))
    return [](const E *x) { return whole(std::isinf(x[0].f)); };
  if (isa<math::IsFiniteOp>(op))
    return [](const E *x) { return whole(std::isfinite(x[0].f)); };
  StringRef name = op->getName().getStringRef();
  if (auto it = unaryFloats().find(name); it != unaryFloats().end()) {
    F1 f = it->second;
    return [=](const E *x) { return real(roundedTo(out, f(x[0].f))); };
  }
  if (auto it = binaryFloats().find(name); it != binaryFloats().end()) {
    F2 f = it->second;
    return [=](const E *x) { return real(roundedTo(out, f(x[0].f, x[1].f))); };
  }
  if (!isa<FloatType>(in) && !isa<FloatType>(out))
    return integerFunction(op, in, out);
  return {};
}

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ElementType.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kernelc {
namespace {

struct Info {
  const char *name;
  int bits;
  enum { Float, Signed, Unsigned, Bool } kind;
};

constexpr std::array<Info, kNumElementTypes> kInfo = {{
    {"f64", 64, Info::Float},
    {"f32", 32, Info::Float},
    {"f16", 16, Info::Float},
    {"bf16", 16, Info::Float},
    {"f8e4m3", 8, Info::Float},
    {"f8e5m2", 8, Info::Float},
    {"i64", 64, Info::Signed},
    {"i32", 32, Info::Signed},
    {"i16", 16, Info::Signed},
    {"i8", 8, Info::Signed},
    {"i4", 4, Info::Signed},
    {"u64", 64, Info::Unsigned},
    {"u32", 32, Info::Unsigned},
    {"u16", 16, Info::Unsigned},
    {"u8", 8, Info::Unsigned},
    {"u4", 4, Info::Unsigned},
    {"bool", 8, Info::Bool},
}};

const Info &info(ElementType t) { return kInfo[static_cast<size_t>(t)]; }

/// A binary format with an implicit leading one. `maxFinite` is the largest finite
/// pattern; `infinity` the pattern that larger values round to (equal to maxFinite
/// for saturating formats).
struct Format {
  int exponentBits, mantissaBits;
  uint32_t maxFinite, infinity, nan;
};
constexpr Format kF16{5, 10, 0x7bff, 0x7c00, 0x7e00};
constexpr Format kBF16{8, 7, 0x7f7f, 0x7f80, 0x7fc0};
constexpr Format kE4M3{4, 3, 0x7e, 0x7e, 0x7f};
constexpr Format kE5M2{5, 2, 0x7b, 0x7b, 0x7e};

/// Rounds to nearest even in one step.
uint32_t narrow(double v, const Format &f) {
  int total = f.exponentBits + f.mantissaBits;
  uint32_t sign = std::signbit(v) ? 1u << total : 0;
  if (std::isnan(v))
    return sign | f.nan;
  double a = std::fabs(v);
  int bias = (1 << (f.exponentBits - 1)) - 1;
  if (a == 0)
    return sign;
  if (std::isinf(a))
    return sign | f.infinity;
  int e;
  std::frexp(a, &e); // a = m * 2^e, 0.5 <= m < 1, so the exponent of the leading one is e - 1
  int exponent = std::max(e - 1, 1 - bias);
  // In units of the last place; exact scaling, then one rounding to even.
  double units = std::nearbyint(std::ldexp(a, f.mantissaBits - exponent));
  // Normal numbers carry the implicit one in `units`; a carry out moves into the exponent by itself.
  double pattern = units + std::ldexp(double(exponent + bias - 1), f.mantissaBits);
  if (pattern > f.maxFinite)
    return sign | f.infinity;
  return sign | uint32_t(pattern);
}

float widen(uint32_t bits, const Format &f, bool hasInfinity) {
  int total = f.exponentBits + f.mantissaBits;
  float sign = (bits >> total) & 1 ? -1.0f : 1.0f;
  uint32_t magnitude = bits & ((1u << total) - 1);
  if (magnitude > f.infinity || (!hasInfinity && magnitude > f.maxFinite))
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  if (hasInfinity && magnitude == f.infinity)
    return sign * std::numeric_limits<float>::infinity();
  int bias = (1 << (f.exponentBits - 1)) - 1;
  int exponent = int(magnitude >> f.mantissaBits);
  uint32_t mantissa = magnitude & ((1u << f.mantissaBits) - 1);
  if (exponent == 0)
    return sign * std::ldexp(float(mantissa), 1 - bias - f.mantissaBits);
  return sign * std::ldexp(float(mantissa | 1u << f.mantissaBits), exponent - bias - f.mantissaBits);
}

} // namespace

absl::string_view elementTypeName(ElementType t) { return info(t).name; }

std::optional<ElementType> findElementType(absl::string_view name) {
  for (int i = 0; i < kNumElementTypes; ++i)
    if (name == kInfo[i].name)
      return ElementType(i);
  return std::nullopt;
}

int elementBits(ElementType t) { return info(t).bits; }
bool isFloat(ElementType t) { return info(t).kind == Info::Float; }
bool isSignedInteger(ElementType t) { return info(t).kind == Info::Signed; }
bool isUnsignedInteger(ElementType t) { return info(t).kind == Info::Unsigned; }

uint16_t toF16(double v) { return uint16_t(narrow(v, kF16)); }
uint16_t toBF16(double v) { return uint16_t(narrow(v, kBF16)); }
uint8_t toF8E4M3(double v) { return uint8_t(narrow(v, kE4M3)); }
uint8_t toF8E5M2(double v) { return uint8_t(narrow(v, kE5M2)); }
uint16_t toF16(float v) { return toF16(double(v)); }
uint16_t toBF16(float v) { return toBF16(double(v)); }
uint8_t toF8E4M3(float v) { return toF8E4M3(double(v)); }
uint8_t toF8E5M2(float v) { return toF8E5M2(double(v)); }
float fromF16(uint16_t bits) { return widen(bits, kF16, true); }
float fromBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
float fromF8E4M3(uint8_t bits) { return widen(bits, kE4M3, false); }
float fromF8E5M2(uint8_t bits) {
  // e5m2 has infinities, which a saturating store never makes but data may hold.
  uint32_t magnitude = bits & 0x7f;
  if (magnitude == 0x7c)
    return bits & 0x80 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  return magnitude > 0x7c ? std::numeric_limits<float>::quiet_NaN() : widen(bits, kE5M2, false);
}

} // namespace kernelc

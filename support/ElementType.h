// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one list of element types, with their sizes and names, and the conversions
// of the narrow ones. Shared by folding, the reference, the emulator and I/O, so
// that every part of kernelc rounds alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/strings/string_view.h"

namespace kernelc {

enum class ElementType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  i64,
  i32,
  i16,
  i8,
  i4,
  u64,
  u32,
  u16,
  u8,
  u4,
  boolean,
};
inline constexpr int kNumElementTypes = 17;

/// The name as written in `.kc`: "bf16", "i8", "bool", ...
absl::string_view elementTypeName(ElementType t);
/// The type with that name, or nothing.
std::optional<ElementType> findElementType(absl::string_view name);
/// Bits of storage: 4 for i4/u4 (two to a byte, low nibble first), 8 for bool.
int elementBits(ElementType t);
bool isFloat(ElementType t);
bool isSignedInteger(ElementType t);
bool isUnsignedInteger(ElementType t);

/// Conversions between f32 and the bit patterns of narrow floats. Narrowing
/// rounds to nearest, ties to even. f16 and bf16 overflow to infinity; the f8
/// types saturate to their largest finite value (f8e4m3: 448, f8e5m2: 57344).
/// NaN stays NaN.
uint16_t toF16(float v);
float fromF16(uint16_t bits);
uint16_t toBF16(float v);
float fromBF16(uint16_t bits);
uint8_t toF8E4M3(float v);
float fromF8E4M3(uint8_t bits);
uint8_t toF8E5M2(float v);
float fromF8E5M2(uint8_t bits);

/// The same from f64, with a single rounding.
uint16_t toF16(double v);
uint16_t toBF16(double v);
uint8_t toF8E4M3(double v);
uint8_t toF8E5M2(double v);

} // namespace kernelc

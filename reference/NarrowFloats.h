// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between narrow floats and f32/f64 as inline integer arithmetic, so
// that LLVM vectorises them. In the emitted code bf16 is an i16 and the f8 types
// are i8; f16 is LLVM's half. Bit for bit the conversions of support/ElementType.h.
#pragma once

#include "reference/Emit.h"

namespace kernelc::reference {

/// bf16, f16 or an f8: storage that widens to f32 when read.
bool isNarrowFloat(Type type);
/// The type that carries bits of `type` in emitted code (scalar).
Type carrierType(Type type);
/// Largest finite value and unit in the last place of the smallest normal etc. of a float type.
struct FloatFacts {
  double unitRoundoff; ///< 2^-p
  double tiny;         ///< smallest subnormal
  double largest;      ///< largest finite
  bool saturates;      ///< stores clamp instead of overflowing
};
FloatFacts floatFacts(Type type);

/// Carrier bits of `from` as f32 or f64 (`to`); shapes agree.
Value widenFloat(Builder &b, Value bits, Type from, Type to);
/// f32 or f64 `v` as carrier bits of `to`, rounded once to nearest even.
Value narrowFloat(Builder &b, Value v, Type to);

} // namespace kernelc::reference

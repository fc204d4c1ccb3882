// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/Rounding.h"

#include <cmath>

#include "support/ElementType.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc::frontend {

APFloat roundTo(FloatType type, double f) {
  APFloat v(f);
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type)) {
    // These saturate, which APFloat's conversion does not.
    uint8_t bits = isa<Float8E4M3FNType>(type) ? toF8E4M3(f) : toF8E5M2(f);
    return APFloat(type.getFloatSemantics(), APInt(8, bits));
  }
  bool lossy;
  v.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
  return v;
}

std::string describeLoss(FloatType t, double f, const APFloat &rounded) {
  if (!std::isfinite(f) || f == 0)
    return "";
  std::string text, type = isa<Float8E4M3FNType>(t) ? "f8e4m3" : isa<Float8E5M2Type>(t) ? "f8e5m2" : "";
  if (type.empty())
    llvm::raw_string_ostream(type) << t;
  APFloat largest = APFloat::getLargest(t.getFloatSemantics());
  bool lossy;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  llvm::raw_string_ostream out(text);
  out << llvm::format("%g", f);
  if (rounded.isInfinity())
    out << " is beyond " << type << ": it is " << (f < 0 ? "-inf" : "inf");
  else if (isa<Float8E4M3FNType, Float8E5M2Type>(t) && std::fabs(f) > largest.convertToDouble())
    out << " is beyond " << type << ": it is " << (f < 0 ? "-" : "") << int64_t(largest.convertToDouble());
  else if (rounded.isZero())
    out << " is too small for " << type << ": it is 0";
  else
    return "";
  return text;
}

} // namespace kernelc::frontend

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/MathLibrary.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "support/ElementType.h"
#include "llvm/ADT/STLExtras.h"

namespace kernelc::reference {
namespace {

// Budgets: CUDA C++ Programming Guide, "Mathematical Functions", full range,
// rounded up, plus 1 ulp so that libm and the emulator fit as well.
constexpr MathFunction kTable[] = {
    {"math.acos", "llvm.acos", nullptr, 1, 3, 3}, {"math.acosh", nullptr, "kc_acosh", 1, 5, 4},
    {"math.asin", "llvm.asin", nullptr, 1, 3, 3}, {"math.asinh", nullptr, "kc_asinh", 1, 4, 4},
    {"math.atan", "llvm.atan", nullptr, 1, 3, 3}, {"math.atan2", "llvm.atan2", nullptr, 2, 4, 3},
    {"math.atanh", nullptr, "kc_atanh", 1, 4, 4}, {"math.cbrt", nullptr, "kc_cbrt", 1, 2, 2},
    {"math.cos", "llvm.cos", nullptr, 1, 3, 3},   {"math.cosh", "llvm.cosh", nullptr, 1, 3, 2},
    {"math.erf", nullptr, "kc_erf", 1, 3, 3},     {"math.erfc", nullptr, "kc_erfc", 1, 5, 6},
    {"math.exp", "llvm.exp", nullptr, 1, 3, 2},   {"math.exp2", "llvm.exp2", nullptr, 1, 3, 2},
    {"math.expm1", nullptr, "kc_expm1", 1, 2, 2}, {"math.fpowi", "llvm.pow", nullptr, 2, 5, 3},
    {"math.log", "llvm.log", nullptr, 1, 2, 2},   {"math.log10", "llvm.log10", nullptr, 1, 3, 2},
    {"math.log1p", nullptr, "kc_log1p", 1, 2, 2}, {"math.log2", "llvm.log2", nullptr, 1, 2, 2},
    {"math.powf", "llvm.pow", nullptr, 2, 5, 3},  {"math.rsqrt", nullptr, "kc_rsqrt", 1, 3, 2},
    {"math.sin", "llvm.sin", nullptr, 1, 3, 3},   {"math.sinh", "llvm.sinh", nullptr, 1, 4, 3},
    {"math.tan", "llvm.tan", nullptr, 1, 5, 3},   {"math.tanh", "llvm.tanh", nullptr, 1, 3, 2},
};

// Names that compilers emit for half and bf16 conversions; Debian 12's libgcc lacks some.
uint16_t truncSfBf(float v) { return toBF16(v); }
uint16_t truncDfBf(double v) { return toBF16(v); }
uint16_t f64ToBf16(double v) { return toBF16(v); }
uint8_t f64ToE4M3(double v) { return toF8E4M3(v); }
uint8_t f64ToE5M2(double v) { return toF8E5M2(v); }
float rsqrtF(float v) { return float(1.0 / std::sqrt(double(v))); }
double rsqrtD(double v) { return 1.0 / std::sqrt(v); }

/// The x86 ABI passes half in an SSE register; only its low 16 bits count.
_Float16 truncSfHf(float v) { return std::bit_cast<_Float16>(toF16(v)); }
_Float16 truncDfHf(double v) { return std::bit_cast<_Float16>(toF16(v)); }
float extendHfSf(_Float16 v) { return fromF16(std::bit_cast<uint16_t>(v)); }

/// Integer power by squaring; wraps. Negative exponents as exact division rounds:
/// 1, -1 and 0 otherwise.
int64_t ipow(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t r = 1, x = uint64_t(base);
  for (uint64_t e = uint64_t(exponent); e; e >>= 1, x *= x)
    if (e & 1)
      r *= x;
  return int64_t(r);
}

template <typename R, typename... A> void *address(R (*f)(A...)) { return reinterpret_cast<void *>(f); }
using F1 = float (*)(float);
using D1 = double (*)(double);
using F2 = float (*)(float, float);
using D2 = double (*)(double, double);

} // namespace

const MathFunction *findMathFunction(llvm::StringRef op) {
  for (const MathFunction &f : kTable)
    if (op == f.op)
      return &f;
  return nullptr;
}

using Symbols = std::vector<std::pair<const char *, void *>>;

/// Functions of the C library, in f32 and f64.
static Symbols mathSymbols() {
#define KC_BOTH(name) {#name "f", address(static_cast<F1>(std::name))}, {#name, address(static_cast<D1>(std::name))}
#define KC_BOTH2(name) {#name "f", address(static_cast<F2>(std::name))}, {#name, address(static_cast<D2>(std::name))}
#define KC_OWN(name)                                                                                                                       \
  {"kc_" #name "f", address(static_cast<F1>(std::name))}, { "kc_" #name, address(static_cast<D1>(std::name)) }
  return {
      KC_BOTH(acos),
      KC_BOTH(asin),
      KC_BOTH(atan),
      KC_BOTH(cos),
      KC_BOTH(cosh),
      KC_BOTH(exp),
      KC_BOTH(exp2),
      KC_BOTH(log),
      KC_BOTH(log10),
      KC_BOTH(log2),
      KC_BOTH(sin),
      KC_BOTH(sinh),
      KC_BOTH(tan),
      KC_BOTH(tanh),
      KC_BOTH(floor),
      KC_BOTH(ceil),
      KC_BOTH(trunc),
      KC_BOTH(round),
      KC_BOTH(rint),
      KC_BOTH(nearbyint),
      KC_BOTH(sqrt),
      KC_BOTH2(atan2),
      KC_BOTH2(pow),
      KC_BOTH2(fmod),
      KC_BOTH2(fmax),
      KC_BOTH2(fmin),
      {"roundevenf", address(static_cast<F1>(std::nearbyint))},
      {"roundeven", address(static_cast<D1>(std::nearbyint))},
      {"fmaf", address(static_cast<float (*)(float, float, float)>(std::fma))},
      {"fma", address(static_cast<double (*)(double, double, double)>(std::fma))},
      KC_OWN(acosh),
      KC_OWN(asinh),
      KC_OWN(atanh),
      KC_OWN(cbrt),
      KC_OWN(erf),
      KC_OWN(erfc),
      KC_OWN(expm1),
      KC_OWN(log1p),
  };
#undef KC_BOTH
#undef KC_BOTH2
#undef KC_OWN
}

/// Functions of the reference's own, and what LLVM calls.
static Symbols ownSymbols() {
  return {
      {"kc_rsqrtf", address(&rsqrtF)},
      {"kc_rsqrt", address(&rsqrtD)},
      {"kc_ipow", address(&ipow)},
      {"kc_f64_to_bf16", address(&f64ToBf16)},
      {"kc_f64_to_f8e4m3", address(&f64ToE4M3)},
      {"kc_f64_to_f8e5m2", address(&f64ToE5M2)},
      {"__truncsfbf2", address(&truncSfBf)},
      {"__truncdfbf2", address(&truncDfBf)},
      {"__truncsfhf2", address(&truncSfHf)},
      {"__truncdfhf2", address(&truncDfHf)},
      {"__extendhfsf2", address(&extendHfSf)},
      {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
      {"memset", reinterpret_cast<void *>(&std::memset)},
      {"memmove", reinterpret_cast<void *>(&std::memmove)},
  };
}

const Symbols &runtimeSymbols() {
  static const auto *table = [] {
    auto *all = new Symbols(mathSymbols());
    llvm::append_range(*all, ownSymbols());
    return all;
  }();
  return *table;
}

} // namespace kernelc::reference

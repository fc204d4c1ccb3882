// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/fuzz/Operators.h"

#include <cstring>

namespace kernelc::fuzz {
namespace {

constexpr char kLetters[] = "fdiluvb"; // in the order of Class

constexpr Operator kOperators[] = {
    // Arithmetic.
    {"fdiluv", "($0 + $1)", "XX"},
    {"fdiluv", "($0 - $1)", "XX"},
    {"fdiluv", "($0 * $1)", "XX"},
    {"fdil", "(-$0)", "X"},
    {"fdil", "abs($0)", "X"},
    {"fdiluv", "max($0, $1)", "XX"},
    {"fdiluv", "min($0, $1)", "XX"},
    {"fdiluv", "min($0, $1, $2)", "XXX"},
    {"fd", "($0 / (abs($1) + 1.5))", "XX"},
    {"fd", "($0 // (abs($1) + 0.7))", "XX"},
    {"fd", "($0 % (abs($1) + 0.7))", "XX"},
    {"fdiluv", "($0 ** 2)", "X"},
    {"fdil", "($0 ** 3)", "X"},
    {"iluv", "($0 // $1)", "XX"},
    {"iluv", "($0 % $1)", "XX"},
    {"iluv", "($0 % 5)", "X"},
    {"iluv", "($0 // 3)", "X"},
    // Bits.
    {"iluv", "($0 & $1)", "XX"},
    {"iluv", "($0 | $1)", "XX"},
    {"iluv", "($0 ^ $1)", "XX"},
    {"iluv", "(~$0)", "X"},
    {"iluv", "($0 << 2)", "X"},
    {"iluv", "($0 >> 1)", "X"},
    {"iluv", "($0 << $1)", "XX"},
    {"iluv", "($0 >> $1)", "XX"},
    // Functions.
    {"fd", "exp(min($0, 3))", "X"},
    {"fd", "exp2(min($0, 3))", "X"},
    {"fd", "expm1(min($0, 3))", "X"},
    {"fd", "log(abs($0) + 0.5)", "X"},
    {"fd", "log2(abs($0) + 0.5)", "X"},
    {"fd", "log10(abs($0) + 0.5)", "X"},
    {"fd", "log1p(abs($0))", "X"},
    {"fd", "sqrt(abs($0) + 0.1)", "X"},
    {"fd", "rsqrt(abs($0) + 0.25)", "X"},
    {"fd", "cbrt($0)", "X"},
    {"fd", "sin($0)", "X"},
    {"fd", "cos($0)", "X"},
    {"fd", "tan(clamp($0, -1, 1))", "X"},
    {"fd", "asin(0.9 * tanh($0))", "X"},
    {"fd", "acos(0.9 * tanh($0))", "X"},
    {"fd", "atan($0)", "X"},
    {"fd", "atan2($0, abs($1) + 0.5)", "XX"},
    {"fd", "sinh(clamp($0, -2, 2))", "X"},
    {"fd", "cosh(clamp($0, -2, 2))", "X"},
    {"fd", "tanh($0)", "X"},
    {"fd", "asinh($0)", "X"},
    {"fd", "acosh(abs($0) + 1.5)", "X"},
    {"fd", "atanh(0.9 * tanh($0))", "X"},
    {"fd", "erf($0)", "X"},
    {"fd", "erfc($0)", "X"},
    {"fd", "floor(3 * $0)", "X"},
    {"fd", "ceil(3 * $0)", "X"},
    {"fd", "round(3 * $0)", "X"},
    {"fd", "rint(3 * $0)", "X"},
    {"fd", "trunc(3 * $0)", "X"},
    {"fd", "((abs($0) + 0.5) ** 1.5)", "X"},
    {"fd", "pow(abs($0) + 0.5, clamp($1, -2, 2))", "XX"},
    {"fd", "fmod($0, abs($1) + 0.7)", "XX"},
    {"fd", "fma($0, $1, $2)", "XXX"},
    {"fd", "copysign($0, $1)", "XX"},
    // The prelude.
    {"fd", "relu($0)", "X"},
    {"fd", "leaky_relu($0)", "X"},
    {"fd", "elu(min($0, 3))", "X"},
    {"fd", "sigmoid($0)", "X"},
    {"fd", "silu($0)", "X"},
    {"fd", "softplus($0)", "X"},
    {"fd", "gelu($0)", "X"},
    {"fd", "gelu_tanh($0)", "X"},
    {"fd", "clamp($0, -0.5, 1)", "X"},
    // Conditions.
    {"fdiluvb", "($0 if $1 else $2)", "XbX"},
    {"b", "($0 < $1)", "ff"},
    {"b", "($0 >= $1)", "ff"},
    {"b", "($0 == $1)", "ff"},
    {"b", "($0 != $1)", "dd"},
    {"b", "($0 <= $1)", "dd"},
    {"b", "($0 < $1)", "ii"},
    {"b", "($0 == $1)", "ii"},
    {"b", "($0 > $1)", "ll"},
    {"b", "($0 <= $1)", "uu"},
    {"b", "($0 != $1)", "vv"},
    {"b", "(0 <= $0 < 2)", "i"},
    {"b", "(-0.25 < $0 <= $1)", "ff"},
    {"b", "(not $0)", "b"},
    {"b", "($0 and $1)", "bb"},
    {"b", "($0 or $1)", "bb"},
    {"b", "($0 ^ $1)", "bb"},
    {"b", "isnan($0)", "f"},
    {"b", "isinf($0)", "f"},
    {"b", "isfinite($0)", "d"},
    {"b", "bool($0)", "i"},
    // Casts.
    {"f", "f32($0)", "i"},
    {"f", "f32($0)", "l"},
    {"f", "f32($0)", "u"},
    {"f", "f32($0)", "v"},
    {"f", "f32($0)", "d"},
    {"f", "f32($0)", "b"},
    {"f", "f32(f16($0))", "f"},
    {"f", "f32(bf16($0))", "f"},
    {"f", "f32(f8e4m3($0))", "f"},
    {"f", "f32(f8e5m2($0))", "f"},
    {"d", "f64($0)", "f"},
    {"d", "f64($0)", "i"},
    {"d", "f64($0)", "l"},
    {"i", "i32($0)", "f"},
    {"i", "i32($0)", "d"},
    {"i", "i32($0)", "l"},
    {"i", "i32($0)", "u"},
    {"i", "i32($0)", "b"},
    {"i", "i32(i8($0))", "i"},
    {"i", "i32(u8($0))", "i"},
    {"i", "i32(i16($0))", "i"},
    {"i", "i32(u16($0))", "l"},
    {"i", "i32(i8(40 * $0))", "f"},
    {"i", "i32(u8(90 * $0))", "f"},
    {"l", "i64($0)", "i"},
    {"l", "i64($0)", "v"},
    {"l", "i64($0)", "f"},
    {"u", "u32($0)", "i"},
    {"u", "u32($0)", "f"},
    {"v", "u64($0)", "u"},
    {"v", "u64($0)", "l"}};

} // namespace

std::vector<const Operator *> operatorsOf(Class c) {
  std::vector<const Operator *> found;
  for (const Operator &op : kOperators)
    if (std::strchr(op.results, kLetters[int(c)]))
      found.push_back(&op);
  return found;
}

size_t operandCount(const Operator &op) { return std::strlen(op.args); }

Class operandClass(const Operator &op, size_t i, Class c) {
  return op.args[i] == 'X' ? c : Class(std::strchr(kLetters, op.args[i]) - kLetters);
}

} // namespace kernelc::fuzz

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar operators as CUDA text: every function has a spelling, on values of every type.
#include "EndToEnd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

TEST(Scalars, EveryFunctionOfTheLanguageHasASpelling) {
  const char *const functions[] = {"exp(x[i])",
                                   "exp2(x[i])",
                                   "expm1(x[i])",
                                   "log(abs(x[i]) + 1)",
                                   "log2(abs(x[i]) + 1)",
                                   "log10(abs(x[i]) + 1)",
                                   "log1p(abs(x[i]))",
                                   "sqrt(abs(x[i]))",
                                   "rsqrt(abs(x[i]) + 1)",
                                   "cbrt(x[i])",
                                   "sin(x[i])",
                                   "cos(x[i])",
                                   "tan(x[i] / 4)",
                                   "asin(x[i] / 4)",
                                   "acos(x[i] / 4)",
                                   "atan(x[i])",
                                   "atan2(x[i], 3)",
                                   "sinh(x[i])",
                                   "cosh(x[i])",
                                   "tanh(x[i])",
                                   "asinh(x[i])",
                                   "acosh(abs(x[i]) + 2)",
                                   "atanh(x[i] / 4)",
                                   "erf(x[i])",
                                   "erfc(x[i])",
                                   "floor(x[i])",
                                   "ceil(x[i])",
                                   "round(x[i])",
                                   "rint(x[i])",
                                   "trunc(x[i])",
                                   "pow(abs(x[i]) + 1, x[i])",
                                   "fmod(x[i], 3)",
                                   "fma(x[i], x[i], 1)",
                                   "copysign(2, x[i])",
                                   "x[i] // 3",
                                   "x[i] % 3"};
  for (const char *type : {"f32", "f64"}) {
    std::string text = std::string("def f(x: ") + type + "[N]) -> (", body;
    for (size_t i = 0; i < std::size(functions); i++) {
      text += std::string(i ? ", " : "") + "y" + std::to_string(i) + ": " + type + "[N]";
      body += "  y" + std::to_string(i) + "[i] = " + functions[i] + "\n";
    }
    EXPECT_EQ(runCase({text + ") {\n" + body + "}", {{"N", 33}}}), "");
  }
}

TEST(Scalars, NamesThatAreFunctionsAreRenamed) {
  EXPECT_EQ(
      runCase({"def f(asinhf: f32[N], tan: f32[N]) -> (expf: f32[N]) {\n  expf[i] = exp(asinh(asinhf[i])) + tanh(tan[i])\n}", {{"N", 33}}}),
      "");
}

TEST(Scalars, TestsOfNarrowFloats) {
  for (const char *type : {"f64", "f32", "f16", "bf16"})
    for (const char *test : {"isnan", "isinf", "isfinite"})
      EXPECT_EQ(runCase({std::string("def f(x: f32[N]) -> (y: ") + type + "[N], a: bool[N], b: bool[N]) {\n  y[i] = " + type +
                             "(sqrt(x[i]))\n  a[i] = " + test + "(y[i])\n  b[i] = " + test + "(y[i] / (y[i] - y[i]))\n}",
                         {{"N", 65}}}),
                "")
          << type << " " << test;
}

} // namespace
} // namespace kernelc::test

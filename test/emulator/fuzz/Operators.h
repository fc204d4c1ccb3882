// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What scalar expressions are made of: a row per operator of the language, with its
// operands' classes. Arguments of functions are kept where these are tame, so that the
// oracle's bounds stay finite and a wrong value shows.
#pragma once

#include <vector>

#include "test/emulator/fuzz/Program.h"

namespace kernelc::fuzz {

/// `text` with $0 .. for operands of `args`; X in `args` and `results` is the class asked for.
struct Operator {
  const char *results; ///< classes that it may have, a letter each: f d i l u v b
  const char *text;
  const char *args; ///< per operand a class's letter, or X
};

/// The operators that give `c`.
std::vector<const Operator *> operatorsOf(Class c);
/// The class of operand `i` of `op` where its result is `c`.
Class operandClass(const Operator &op, size_t i, Class c);
size_t operandCount(const Operator &op);

} // namespace kernelc::fuzz

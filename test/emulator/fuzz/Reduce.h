// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shrinks a failing case, program and schedule and sizes together. Knows nothing of
// compilers: whether a smaller case still fails is for the caller to say.
#pragma once

#include <functional>

#include "test/emulator/fuzz/Case.h"

namespace kernelc::fuzz {

/// Cases that have a part less than `c`, the boldest first: a statement, a field of the
/// schedule, a clause, an operand in place of an expression, a range, a condition, an index
/// of an access, a smaller size, a plainer type.
std::vector<Case> smallerCases(const Case &c);

/// Takes parts away while `fails` holds, until none can go or `budget` calls are spent.
/// `fails(c)` is taken for granted.
Case reduceCase(Case c, const std::function<bool(const Case &)> &fails, int budget = 300);

/// Operators, accesses and statements of the program and fields of the schedule: what reduceCase makes less of.
size_t weightOf(const Case &c);

} // namespace kernelc::fuzz

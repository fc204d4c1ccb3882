// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.recurrence on the CPU: each free point is a unit, whose steps follow one another.
#pragma once

#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// The body of the function of a step, of units [begin, end).
absl::Status emitRecurrence(Builder &b, FunctionEnv &env, te::RecurrenceOp op, int out, int number, Value begin, Value end, Step &step);

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.fold on the CPU: for each result all points in the order of the indices, whatever laws hold.
#pragma once

#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// The body of the function of a step, of units [begin, end). `op` has one result (expandFolds).
absl::Status emitFold(Builder &b, FunctionEnv &env, te::FoldOp op, int out, int number, Value begin, Value end, Step &step);

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.scatter on the CPU: all points in the order of the indices, by one thread.
#pragma once

#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// The body of the function of a step with one unit.
absl::Status emitScatter(Builder &b, FunctionEnv &env, te::ScatterOp op, int out, int number, Step &step);

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.compute on the CPU: each point of its domain by itself.
#pragma once

#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// The body of the function of a step, of units [begin, end).
absl::Status emitCompute(Builder &b, FunctionEnv &env, te::ComputeOp op, int out, int number, mlir::Value begin, mlir::Value end,
                         Step &step);

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.reduce on the CPU: tiles of results at once, in registers, and borders point by point.
#pragma once

#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// The body of the function of a step, of units [begin, end). `vectorBytes`: of the host's vector registers.
absl::Status emitReduce(Builder &b, FunctionEnv &env, te::ReduceOp op, int out, int number, unsigned vectorBytes, mlir::Value begin,
                        mlir::Value end, Step &step);

} // namespace kernelc::reference

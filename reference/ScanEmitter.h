// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan that a te.reduce says on the CPU, row by row: each result is stored on the way to the next one.
#pragma once

#include "ir/te/Scan.h"
#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// The body of the function of a step, of units [begin, end).
absl::Status emitScan(Builder &b, FunctionEnv &env, te::ReduceOp op, const te::Scan &scan, int out, int number, mlir::Value begin,
                      mlir::Value end, Step &step);

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a rewrite of a kernel leaves behind.
#pragma once

#include "ir/cu/Cu.h"

namespace kernelc {

/// Erases a thread's own arrays that are only stored to, and what is computed for nobody.
void eraseDead(cu::KernelOp kernel);
/// Erases what is computed for nobody in `op`, and `op` if it does nothing else.
void eraseDeadIn(mlir::Operation *op);

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verification of what stands in a te.kernel, for the verifiers of the dialect alone.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Whether a tensor is an argument of `kernel` or what one of its statements gives.
bool isTensorOf(KernelOp kernel, mlir::Value tensor);
/// [C5] to [C8] of te.kernel.
mlir::LogicalResult verifyKernelBody(KernelOp kernel);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verification of what stands in a cu.kernel, for the verifiers of the dialect alone.
#pragma once

#include "ir/cu/Cu.h"

namespace kernelc::cu {

/// [C1] to [C9] of cu.kernel.
mlir::LogicalResult verifyKernel(KernelOp kernel);

} // namespace kernelc::cu

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the sizes are by the kernel's requirements, which every launch is asked for and no variant has to ask.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"

namespace kernelc::te {

/// What each size is a multiple of: by `facts`, and by what the kernel requires (`N % 64 == 0`, `E == 64 * H`). What no size within
/// the bounds of `facts` is a multiple of is left out: no launch comes that far. (Bounds that the kernel requires are no facts: sizes
/// that have one are at least 1, and bounds are what tiles are chosen for.)
llvm::SmallVector<int64_t> requiredDivisors(KernelOp kernel, const SizeFacts &facts);

} // namespace kernelc::te

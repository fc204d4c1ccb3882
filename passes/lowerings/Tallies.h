// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of a scatter's result in shared memory: few elements that many points meet in are combined there first.
#pragma once

#include "passes/lowerings/ThreadCode.h"

namespace kernelc {

/// The element of this warp's copy at `subscripts` of the tensor.
mlir::Value tallyAddress(ThreadCode &code, tile::ScatterOp op, llvm::ArrayRef<mlir::Value> subscripts);

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What operations of unrolled loops come to.
#pragma once

#include "mlir/IR/Operation.h"

namespace kernelc {

/// Whether an op still takes an instruction when the loops around it are unrolled: indices
/// become constants, and elements of private arrays are registers.
bool isInstruction(mlir::Operation *op);

} // namespace kernelc

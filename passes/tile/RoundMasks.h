// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rounds of a loop do without where a mask holds at all points.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kernelc {

/// Replaces what is chosen or joined by `condition`, a tile whose elements are all true.
void foldTrue(mlir::Value condition);

/// Whether `op` is a loop whose rounds have several products on warpgroups: beside their accumulators a thread has few registers.
bool isRoundOfProducts(mlir::Operation *op);

/// Erases operations of the loop's body that nothing uses.
void dropDead(mlir::scf::ForOp loop);

} // namespace kernelc

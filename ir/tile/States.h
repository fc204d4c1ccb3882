// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops whose region is a function of scalars, no control flow.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc::tile {

/// Whether `op` does what it does once, where it stands: it has no region, or one that says how states combine.
inline bool isStraight(mlir::Operation *op) { return op->getNumRegions() == 0 || llvm::isa<ReduceOp, ScanOp, LookBackOp>(op); }

} // namespace kernelc::tile

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verification of what stands in a tile.func, for the verifiers of the dialect alone.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc::tile {

/// [C1] to [C13] of tile.func.
mlir::LogicalResult verifyFunc(FuncOp func);

} // namespace kernelc::tile

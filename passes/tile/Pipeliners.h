// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the operands of dots get into rings: copied by the threads that multiply, or by tensor copies of warps that only fill. What
// tile-pipeline (Pipeline.cpp) chooses between.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// Puts the operands of `dots`, which stand in `loop`, into rings that the same threads fill: by asynchronous copies where these can bring
/// them, through registers where not, `stages` - 1 rounds ahead; what the loop does not change once before it. What one of the dots leaves
/// in registers another takes from them. Fails with a diagnostic.
mlir::LogicalResult pipelineByCopies(tile::FuncOp func, mlir::scf::ForOp loop, llvm::ArrayRef<tile::DotOp> dots);

/// Puts the operands of all `dots` of a function, in their order, into rings that tensor copies fill: a ring for each box, which all
/// dots that read it share, filled where its load stands. Fails with a diagnostic.
mlir::LogicalResult pipelineThroughChannels(tile::FuncOp func, llvm::ArrayRef<tile::DotOp> dots);

/// Where a round has several products of which some take others' results: its loads first, and waits where results are needed.
void delayWaits(tile::FuncOp func);

/// Whether the first operand of `dot` is computed from what another dot of its round leaves.
bool isFedByDot(tile::DotOp dot);

/// Erases what of the loop's body nothing needs, but for what is kept for later.
void eraseUnused(mlir::scf::ForOp loop, llvm::function_ref<bool(mlir::Operation *)> isKept = [](mlir::Operation *) { return false; });

} // namespace kernelc

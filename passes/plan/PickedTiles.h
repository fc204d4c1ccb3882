// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks that have one value on each piece of a tile. A loop over tiles evaluates such a mask once a piece, and skips tiles on which it
// holds nowhere (block-sparse attention).
#pragma once

#include "ir/te/Te.h"
#include "passes/plan/PlanAttr.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// A condition that has one value on each piece of a tile. Where it does not hold, a point changes nothing (findPointMasks).
struct PickingMask {
  mlir::Value condition;
  llvm::SmallVector<int64_t> piece; ///< points of a piece along each dim of the statement; 0: the condition does not depend on that dim
  bool isWhole;                     ///< a tile is one piece: in tiles that are not skipped, no point needs the mask
};

/// The picking masks of a cascade in a launch that has a loop over tiles of its index `walked`. None in clusters: blocks that share
/// loads must load the same tiles. `ops`: the kernel's statements. `dims`: the launch's index of each dim of the statement.
llvm::SmallVector<PickingMask> findPickingMasks(CascadeOp op, const LaunchPlan &launch, llvm::ArrayRef<mlir::Operation *> ops,
                                                llvm::ArrayRef<int64_t> dims, int64_t walked, const ChainCosts &costs);

/// For a launch whose tiles are not chosen yet: whether it would have picking masks with tiles of 128 points.
bool mayPickTiles(const LaunchPlan &launch, llvm::ArrayRef<mlir::Operation *> ops, const ChainCosts &costs);

} // namespace kernelc::te

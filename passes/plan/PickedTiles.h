// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks that are the same throughout pieces of a tile: a walk asks them once for each piece, and passes over tiles of which none counts.
#pragma once

#include "ir/te/Te.h"
#include "passes/plan/PlanAttr.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// A condition without which a point changes nothing (findPointMasks), the same throughout pieces of a tile.
struct PickingMask {
  mlir::Value condition;
  llvm::SmallVector<int64_t> piece; ///< points of one by the statement's dim, 0 along those that it does not depend on
  bool isWhole;                     ///< a tile is one piece: no point of one that is walked needs the mask
};

/// Those of a cascade in a launch whose loop walks its index `walked` by tiles; none where blocks that share what they bring have to
/// go round alike. `ops`: the kernel's statements. `dims`: the launch's index of each dim of the statement.
llvm::SmallVector<PickingMask> findPickingMasks(CascadeOp op, const LaunchPlan &launch, llvm::ArrayRef<mlir::Operation *> ops,
                                                llvm::ArrayRef<int64_t> dims, int64_t walked, const ChainCosts &costs);

/// Whether a walk over the launch's loops would have such masks with tiles of 128 points, before it has tiles.
bool mayPickTiles(const LaunchPlan &launch, llvm::ArrayRef<mlir::Operation *> ops, const ChainCosts &costs);

} // namespace kernelc::te

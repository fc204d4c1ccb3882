// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many terms the tiles of a product have where a condition bounds its sum (`k <= i`): some of them few, others all.
#pragma once

#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// Of samples that lie evenly among the points of a tile's sum.
struct TileLengths {
  int64_t total = 0;   ///< that count, of all tiles looked at
  int64_t tiles = 0;   ///< looked at
  int64_t longest = 0; ///< that count in one tile
};

/// By the condition of `op`, whose dims are `dims` of the launch, at sizes that are `likely`. Nothing where there is no condition, or one
/// that sizes or data are part of.
std::optional<TileLengths> findTileLengths(mlir::Operation *op, const LaunchPlan &l, llvm::ArrayRef<int64_t> dims, const SizeFacts &likely);

} // namespace kernelc::te

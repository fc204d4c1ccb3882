// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which statements share a launch: the part of planning that is about meaning,
// not speed. Schedule.h gives each group its numbers.
#pragma once

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// The most points of an index that a tile of a product may have all of, and so reduce over.
inline constexpr int64_t kLargestInTile = 256;

/// Unit attribute of a statement that keeps a launch of its own: what it reads comes from
/// memory, wherever it was made.
inline constexpr llvm::StringLiteral kOwnLaunch = "own_launch";

/// Unit attribute of a reduction over what one tile of a product has.
inline constexpr llvm::StringLiteral kInTile = "in_tile";

/// Launches with statements, index spaces and grids filled in; tiles are 1.
std::vector<LaunchPlan> groupStatements(KernelOp kernel, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te

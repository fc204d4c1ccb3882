// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which statements share a launch: the part of planning that is about meaning,
// not speed. Schedule.h gives each group its numbers.
#pragma once

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// Unit attribute of a statement that keeps a launch of its own: what it reads comes from
/// memory, wherever it was made.
inline constexpr llvm::StringLiteral kOwnLaunch = "own_launch";

/// Unit attribute of a reduction whose last index data bounds, for each result, to a segment that is short as a rule.
inline constexpr llvm::StringLiteral kSegmented = "segmented";

/// And of one whose other conditions, if any, hold at all points of the segments: what is read there lies inside.
inline constexpr llvm::StringLiteral kAllExist = "all_exist";

/// Unit attribute of a statement of long straight-line code, of which a thread computes one point at a time.
inline constexpr llvm::StringLiteral kPointwise = "point_by_point";

/// Unit attribute of a reduction over what one tile of a product has.
inline constexpr llvm::StringLiteral kInTile = "in_tile";

/// Launches with statements, index spaces and grids filled in; tiles are 1.
std::vector<LaunchPlan> groupStatements(KernelOp kernel, const Target &target, const SizeFacts &facts);

/// Statements that go into one launch because they are alike. NVRTC's time grows with the square of a function's length, and a few
/// launches more are nothing beside what so many statements read and write.
inline constexpr size_t kMostSiblings = 32;

} // namespace kernelc::te

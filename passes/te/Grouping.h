// Which statements share a launch: the part of planning that is about meaning,
// not speed. Schedule.h gives each group its numbers.
#pragma once

#include "passes/te/PlanAttr.h"

namespace kernelc::te {

/// Launches with statements, index spaces and grids filled in; tiles are 1.
/// Unit attribute of a statement that keeps a launch of its own: what it reads comes from
/// memory, wherever it was made.
inline constexpr llvm::StringLiteral kOwnLaunch = "own_launch";

std::vector<LaunchPlan> groupStatements(KernelOp kernel);

} // namespace kernelc::te

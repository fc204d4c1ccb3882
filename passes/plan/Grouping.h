// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which statements share a launch: the part of planning that is about meaning,
// not speed. Schedule.h gives each group its numbers.
#pragma once

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// Launches with statements, index spaces and grids filled in; tiles are 1.
std::vector<LaunchPlan> groupStatements(KernelOp kernel, const Target &target, const SizeFacts &facts);

/// Statements that go into one launch because they are alike. NVRTC's time grows with the square of a function's length, and a few
/// launches more are nothing beside what so many statements read and write.
inline constexpr size_t kMostSiblings = 32;

} // namespace kernelc::te

// Which statements share a launch: the part of planning that is about meaning,
// not speed. Schedule.h gives each group its numbers.
#pragma once

#include "passes/te/PlanAttr.h"

namespace kernelc::te {

/// Launches with statements, index spaces and grids filled in; tiles are 1.
std::vector<LaunchPlan> groupStatements(KernelOp kernel);

} // namespace kernelc::te

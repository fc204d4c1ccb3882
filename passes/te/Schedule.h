// Schedules from outside the cost model: the kernel's `schedule` attribute, put
// there from a file, the program or the tuning database.
#pragma once

#include "passes/te/PlanAttr.h"

namespace kernelc::te {

/// Overrides the fields of `launch` that the kernel's `schedule` attribute names for
/// it: an array of dictionaries with `launch`, optionally `target`, and the keys of a
/// launch in `plan`, where `tiles` is a dictionary of index names. Fails with a
/// diagnostic on a key, an index or a value that means nothing.
mlir::LogicalResult applySchedule(KernelOp kernel, llvm::StringRef target, LaunchPlan &launch);

/// Fails with a diagnostic when `schedule` names a launch that the plan does not have.
mlir::LogicalResult checkScheduledLaunches(KernelOp kernel, const KernelPlan &plan);

} // namespace kernelc::te

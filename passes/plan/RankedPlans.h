// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plans that come next where the code of a launch's first one does not fit its registers. They are data; who compiles
// them, and what for, is the driver's.
#pragma once

#include <vector>

#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// What may take the place of `launch`, the least loss of speed first: each gives a thread fewer registers to fill or more to
/// fill them with. Whether a kernel can have one, te-plan says, to which they are schedules.
std::vector<LaunchPlan> rankBehind(KernelOp kernel, const LaunchPlan &launch, const Target &target);

/// What `plan` says of its launch otherwise than `first`, as a record of the kernel's `schedule` attribute.
mlir::DictionaryAttr recordOf(mlir::MLIRContext *context, const LaunchPlan &plan, const LaunchPlan &first);

/// Whether a record from outside speaks of launch `name` on `target`: then that is its plan.
bool isScheduledFromOutside(KernelOp kernel, llvm::StringRef target, llvm::StringRef name);

/// Adds records to those that the kernel has.
void addRecords(KernelOp kernel, llvm::ArrayRef<mlir::DictionaryAttr> records);

} // namespace kernelc::te

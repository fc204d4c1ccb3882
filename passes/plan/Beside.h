// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that need nothing of each other, as one: some of its blocks have the tiles of one record, the others those of the next
// (cu-join).
#pragma once

#include "passes/plan/LaunchTime.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"

namespace kernelc::te {

/// Whether neither of two launches writes to memory that the other one reads or writes. `ops`: the kernel's domain ops; `sourceOf`: the
/// memory that a tensor lies in.
bool areApart(const LaunchPlan &a, const LaunchPlan &b, llvm::ArrayRef<mlir::Operation *> ops,
              llvm::function_ref<int64_t(mlir::Value)> sourceOf);

/// The first record of the launch of the device that has record `n`, and the one behind its last.
std::pair<size_t, size_t> findLaunch(const KernelPlan &plan, size_t n);

/// Fails with a diagnostic where a record says that it runs beside those before it, and cannot.
mlir::LogicalResult checkBeside(KernelOp kernel, const KernelPlan &plan);

/// What the records of one launch take together; in `blocks` how many each has. Blocks that `stay` are, of `atOnce`, as many as make the
/// longest of the records shortest.
LaunchTime timeTogether(llvm::ArrayRef<LaunchTime> times, bool stay, int64_t atOnce, llvm::SmallVectorImpl<int64_t> &blocks);

/// Has records run beside those before them where that takes less time, by a schedule in any case or in none. Fails with a diagnostic
/// where a schedule asks for what cannot be.
mlir::LogicalResult joinLaunches(KernelOp kernel, const Target &target, Merge merge, const SizeFacts &likely, KernelPlan &plan);

} // namespace kernelc::te

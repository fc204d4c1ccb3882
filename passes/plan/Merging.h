// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that become one: because they read the same, or because the later one can make what little the earlier one makes itself.
#pragma once

#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// Merges launches without products, scans and scatters, the pairs first that save most. Tiles are still 1.
void mergeLaunches(KernelOp kernel, const Target &target, const SizeFacts &facts, std::vector<LaunchPlan> &launches);

/// The grid's indices along which all tiles make what statement `member` of the launch does: it has them neither as they are nor reduced
/// in a tile. `ops`: the kernel's domain ops.
llvm::SmallVector<int64_t> findMissingIndices(const LaunchPlan &launch, size_t member, llvm::ArrayRef<mlir::Operation *> ops);

} // namespace kernelc::te

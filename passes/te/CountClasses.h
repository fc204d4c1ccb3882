// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of ones: what they count, and counts of the points of which data says that they are of a class.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// The condition under which a point of `reduce` counts one; null where that is not what it sums.
mlir::Value findCountedTest(ReduceOp reduce);

/// Scatters the points of sums of ones in which data names the result that a point counts for, where that takes less than asking
/// each point for each result:
///
///     n[i, j] = sum[k, a[k] == i, b[k] == j](1)   →   n[a[k], b[k]] += 1
///
/// `likely`: sizes of the call that the plan is made for.
void countClasses(KernelOp kernel, const SizeFacts &facts, const SizeFacts &likely, const SortingCosts &costs);

} // namespace kernelc::te

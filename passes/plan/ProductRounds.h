// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the rounds of a product use the accumulators of its unit.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// How many rounds of a launch's product sum in the unit's accumulators before the sum moves on (LaunchPlan::promote): of operands
/// in slots that producer warps fill as many as it allows; one where registers, scales or a choice of tiles come between rounds.
/// `dims`: of the product's statement, as in LaunchPlan::dims.
int64_t roundsInAccumulators(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);

} // namespace kernelc::te

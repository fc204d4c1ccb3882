// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the rounds of a product use the accumulators of its unit.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// Whether several rounds of a product may sum in the accumulators of warpgroups: its operands are in slots, and no registers, scales
/// or choice of tiles come between rounds.
bool mayShareAccumulators(const Contraction &c);
/// Whether the unit's rows are b's columns: a's are too few for the unit's, or b comes from registers; or a's rows are what the
/// launch's loop walks, of which another product takes the results.
bool takesColumnsAsRows(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
/// How many rounds of a launch's product sum in the unit's accumulators before the sum moves on (LaunchPlan::promote): of operands
/// in slots that producer warps fill as many as it allows, where they may share them.
/// `dims`: of the product's statement, as in LaunchPlan::dims.
int64_t roundsInAccumulators(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions that are contractions once one of their indices is written as digits.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/te/Digits.h"

namespace kernelc::te {

/// `reduce` as the contraction that it is with `digits` in place of parallel index d, where it is none as it stands: both
/// factors have the index, one of them its high digit only (`x[i, (d // 64) * 64 + k] * w[d, k]`), so that groups are a batch and
/// what is left of d is rows or columns. Groups of few results count only where another product walks them. The factors are values of
/// reduce's body, the indices those of the split reduction; scales and conditions on data are left out.
std::optional<Contraction> findGroupedContraction(ReduceOp reduce, unsigned d, const Digits &digits);

/// The same for any parallel index and any digits that its accesses speak of, whether they come out even or not.
std::optional<Contraction> findGroupedContraction(ReduceOp reduce);

} // namespace kernelc::te

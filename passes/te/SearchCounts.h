// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts of what compares in one way with a value of each point: sorted once, and searched.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"

namespace kernelc::te {

/// y[b, n] = |{j: t(b, j) <= x(b, n)}|, or with <, >= or >, t of any order: t is sorted, those that are no number last, and each point
/// finds by halves up to where the comparison holds.
///
///     ranks[b, j]  = |{i: t(b, i) before t(b, j)}|
///     sorted[b, ranks[b, j]] = t(b, j)
///     y[b, n]      = the most c with c = 0 or sorted[b, c - 1] <= x(b, n)
///
/// Puts these in the place of `reduce` where it is such a count, t has at least one element and at most as many as `facts` say, and by
/// `likely` sizes this is clearly faster; false, and nothing changed, elsewhere.
bool searchCount(ReduceOp reduce, const SizeFacts &facts, const SizeFacts &likely);

} // namespace kernelc::te

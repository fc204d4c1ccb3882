// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with rows that data chooses, of fewer rows than are chosen.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Multiplies the rows that there are in place of those that data chooses, where these are clearly more by the bounds `sizeMax` of sizes:
///
///     m[e, h] = sum[k](x[src[e], k] * w[h, k])   →   p[n, h] = sum[k](x[n, k] * w[h, k]),   m[e, h] = p[src[e], h]
///
/// What is outside of x is outside of p. Returns whether `reduce` was replaced.
bool chooseRowsLast(ReduceOp reduce, llvm::ArrayRef<int64_t> sizeMax);

} // namespace kernelc::te

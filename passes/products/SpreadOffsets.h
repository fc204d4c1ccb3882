// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer factors less offsets, as zero points are: sums of products of bytes beside sums of their factors.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// A sum of products of integers of which a factor has an offset that no summed index tells apart, and of which matrix units take both
/// factors only without it, as
///
///     y[i, j] = sum[k]((x[i, k] - z[i]) * w[j, k])   →   y[i, j] = sum[k](x[i, k] * w[j, k]) - z[i] * sum[k](w[j, k])
///
/// Integers wrap, so that both are the same number. An offset that is also what a factor is outside its tensor (`x.pad(z)[..] - z`) is
/// subtracted where the read lies inside. Sizes count as their bounds `sizeMax`. Returns whether `reduce` was replaced.
bool spreadOffsets(ReduceOp reduce, llvm::ArrayRef<int64_t> sizeMax);

} // namespace kernelc::te

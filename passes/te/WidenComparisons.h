// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons of data with indices that the text has cast to the data's type (te-search-counts).
#pragma once

#include "passes/index/Affine.h"

namespace kernelc::te {

/// Where data is compared with an index that was cast to a narrower type which holds all of its values, compares in 64 bits instead. The
/// index then has no narrowing cast, and searches for bounds by data, and for results that data names, find it.
///
///   x[k] == i32(i)   =>   i64(x[k]) == i
void widenComparisons(KernelOp kernel, const SizeFacts &facts);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons of data with indices that the text has cast to the data's type (te-search-counts).
#pragma once

#include "passes/index/Affine.h"

namespace kernelc::te {

/// Compares in 64 bits where an index has been cast to fewer that hold all of its values: what looks for bounds by data, or for the result
/// that data names, finds the index then.
///
///   x[k] == i32(i)   =>   i64(x[k]) == i
void widenComparisons(KernelOp kernel, const SizeFacts &facts);

} // namespace kernelc::te

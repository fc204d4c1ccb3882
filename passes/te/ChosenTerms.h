// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of which data chooses one term.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Reads the one term of reductions over an index that data says, of terms that lie in memory, as sums with a one-hot factor are:
///
///     y[i] = sum[j](e(i, j) if j == t[i] else 0)   →   y[i] = e(i, t[i]) if 0 <= t[i] < extent of j else 0
void takeChosenTerms(KernelOp kernel);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over pairs of points that have a few results for each point (the three coordinates of a force).
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Replaces a reduction over pairs of points by one for each of its few results (the coordinates of the force on a point). All of them use
/// the same value of a pair (the distance), which one loop then computes once for all. So does it for a reduction over rows of a scan (the
/// weights along a ray), which then goes with the scan. Returns whether there was such a reduction.
///
///   f[i, c] = sum[j](g(x[i], x[j]) * x[j, c])   =>   f0[i] = sum[j](g(x[i], x[j]) * x[j, 0]) ..; f[i, c] = f0[i] if c == 0 else ..
bool writeFewResultsOut(KernelOp kernel);

} // namespace kernelc::te

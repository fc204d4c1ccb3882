// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of pairs with a few results of each row, as te-simplify has them.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Writes a reduction over pairs of what is read, whose results are a few of each row (the force on a point, in space), as one for each of
/// them: what a pair is computed of is the same for all (their distance), and they share it in one walk. True where there was one.
///
///   f[i, c] = sum[j](g(x[i], x[j]) * x[j, c])   =>   f0[i] = sum[j](g(x[i], x[j]) * x[j, 0]) ..; f[i, c] = f0[i] if c == 0 else ..
bool writeFewResultsOut(KernelOp kernel);

} // namespace kernelc::te

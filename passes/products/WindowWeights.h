// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-repack: a better order in memory for the weights of windows whose neighbours are read as vectors (a depthwise convolution with its
// channels last).
#pragma once

#include "passes/products/FactorLayout.h"

namespace kernelc::te {

/// How to copy the weights that `read` reads in `reduce`, a short sum over a window: `f[c, r, s]` beside `x[n, h + r, w + s, c]`. Along c,
/// the last result index, x is read as vectors, but neighbours in f lie many bytes apart. Nothing where they are neighbours in f, too, or
/// where too few results would pay for the copy.
std::optional<FactorCopy> findWindowWeights(const Repacking &of, ReduceOp reduce, ReadOp read);

} // namespace kernelc::te

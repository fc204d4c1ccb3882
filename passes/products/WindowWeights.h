// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of windows that lie beside each other as vectors do (a depthwise convolution with its channels last), and how they would lie
// beside them (te-repack).
#pragma once

#include "passes/products/FactorLayout.h"

namespace kernelc::te {

/// The copy of what `read` reads in `reduce`, a short sum of windows whose neighbours along the last result index are vectors: `f[c, r, s]`
/// of `x[n, h + r, w + s, c]`, a number of which every thread asks for by itself, many bytes from its neighbour's. Nothing where they are
/// neighbours, too, or the sum is not long enough.
std::optional<FactorCopy> findWindowWeights(const Repacking &of, ReduceOp reduce, ReadOp read);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rewrites of te.fold.
#pragma once

#include "ir/te/Te.h"
#include "passes/plan/Rewrite.h"

namespace kernelc::te {

/// ⊕_k s(p, k)  =  ⊕_{q < K/chunk} ⊕_{k' < chunk} s(p, q·chunk + k') over the first reduced index: states of parts, which leave with
/// all components as results, and a fold of them in their order. `fold` is a monoid and no scan. Unless `chunk` divides the
/// extent, the last part `isShorter`.
void splitFold(FoldOp fold, int64_t chunk, bool isShorter);
/// The same as a part of a rewrite.
void sketchSplitFold(RewriteSketch &sketch, FoldOp fold, int64_t chunk, bool isShorter);

} // namespace kernelc::te

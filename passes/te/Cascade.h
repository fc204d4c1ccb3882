// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rewrites of te.cascade that need no proof: an arg reduction is one, and a cascade
// over chunks is a cascade of cascades.
#pragma once

#include "ir/te/Te.h"
#include "passes/plan/Rewrite.h"

namespace kernelc::te {

/// `reduce`, an arg reduction, as a cascade of the best key and the first position
/// that has it; its second result replaces the reduction's. Null (and nothing done)
/// where it is none. (An argmin of floats, which passes NaN by, has the maxima of
/// negated elements for keys.)
CascadeOp convertArgReduction(ReduceOp reduce);

/// ⊗_k s(p, k)  =  ⊗_{q < K/chunk} ⊗_{k' < chunk} s(p, q·chunk + k') over the first
/// reduced index: partial states, which leave with their components as results, and a
/// cascade that merges them by the rescale region. Unless `chunk` divides the extent, the last part `isShorter`: it ends
/// where the extent does.
void splitCascade(CascadeOp cascade, int64_t chunk, bool isShorter);
/// The same as a part of a rewrite; of an arg reduction, after convertArgReduction, which must not refuse it.
void sketchSplitCascade(RewriteSketch &sketch, mlir::Operation *cascade, int64_t chunk, bool isShorter);
/// Whether convertArgReduction takes `reduce`.
bool isConvertible(ReduceOp reduce);

} // namespace kernelc::te

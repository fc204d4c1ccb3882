// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cascades that walk products' results, in parts.
#pragma once

#include "passes/plan/Chain.h"
#include "passes/plan/Rewrite.h"

namespace kernelc::te {

/// Whether splitWalk can cut the products.
bool canSplitWalk(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts);
/// Cuts what `cascade` walks into parts of `chunk` points, in it and in the products; a cascade merges what the parts have come to.
void splitWalk(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts);
/// The same as a part of a rewrite.
void sketchSplitWalk(RewriteSketch &sketch, CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts);

} // namespace kernelc::te

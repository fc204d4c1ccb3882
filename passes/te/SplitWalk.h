// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cascades that walk products' results, in parts.
#pragma once

#include "passes/plan/Chain.h"

namespace kernelc::te {

/// Cuts what `cascade` walks into parts of `chunk` points, in it and in the products; a cascade merges what the parts have come to. False,
/// and nothing done, where a product cannot be cut so.
bool splitWalk(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A set of statements (BlockGeometry.h) as statements over blocks and what each has (te-block-windows).
#pragma once

#include "passes/te/BlockGeometry.h"

namespace kernelc::te {

/// Makes all members pointwise: reductions over windows are written out, and what is read at its own points by one member is computed
/// there. False where a statement would be longer than `costs` allow.
bool makePointwise(BlockSet &set, const BlockCosts &costs);

/// Writes the members, pointwise all, over blocks of `tiles` points of each dim, as set `number` of the kernel. Returns what the sink is
/// now.
ComputeOp writeBlocks(BlockSet &set, llvm::ArrayRef<int64_t> tiles, int64_t number);

} // namespace kernelc::te

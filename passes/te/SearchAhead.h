// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where data says which points a walk needs, it is searched once, by a statement ahead of it, and not by each of its tiles.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "support/Target.h"

namespace kernelc::te {

/// Of each cascade of `kernel` that walks a product's results and has a mask that compares data of the points walked with data of its rows
/// (`doc[i] == doc[j]`):
///
///     least[t] = min over the rows i of piece t of doc[i], most[t] = max ..
///     first[t] = min j where least[t] <= doc[j] <= most[t], past[t] = max j + 1 ..
///     s if doc[i] == doc[j] else -inf   →   s if doc[i] == doc[j] and first[i // 64] <= j and j < past[i // 64] else -inf
///
/// The new conditions hold wherever the old one does, and are marked so (kImplied): loops begin and end by them, and nothing asks them of a
/// point. Where the tiles' own searches, by `expected` sizes, take less time than the launches ahead, nothing changes.
void searchAhead(KernelOp kernel, const Target &target, const SizeFacts &facts, const SizeFacts &expected);

} // namespace kernelc::te

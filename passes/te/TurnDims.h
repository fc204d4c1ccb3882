// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Intermediate tensors may have their dims in any order: these functions give one the order in which all of its readers have them.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// p[j, i] = Σ_k ..,  m[i] = max_j p[j, i]   →   p[i, j] = Σ_k ..,  m[i] = max_j p[i, j]
///
/// Of sums of products that reductions walk, and of these reductions, where they are no outputs and all who read them have their dims in
/// one order: that is theirs.
void takeReadersOrder(KernelOp kernel);

} // namespace kernelc::te

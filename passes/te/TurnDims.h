// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the dims of what a program defines in between is nobody's business: that of those who read it.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// p[j, i] = Σ_k ..,  m[i] = max_j p[j, i]   →   p[i, j] = Σ_k ..,  m[i] = max_j p[i, j]
///
/// Of sums of products that reductions walk, and of these reductions, where they are no outputs and all who read them have their dims in
/// one order: that is theirs.
void takeReadersOrder(KernelOp kernel);

} // namespace kernelc::te

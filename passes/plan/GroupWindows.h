// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions of groups that have too few channels for a matrix unit: CUDA cores sum them as windows (WindowPlan.cpp).
#pragma once

#include "passes/index/Affine.h"
#include "support/Target.h"

namespace kernelc::te {

/// Whether `reduce` is a short sum of products of halves over windows of few channels, `x[n, h + r, w + s, g * C + c] * f[g, j, c, r, s]`,
/// with few results of a group along its index `columns`, j: rows of so few channels are shorter than a tensor copy's, and a tile of a
/// matrix unit is mostly of points that there are none of.
bool isWindowOfGroups(ReduceOp reduce, unsigned columns, const SizeFacts &facts, const Target &target);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions of groups that have too few channels for a matrix unit: CUDA cores sum them as windows (WindowPlan.cpp).
#pragma once

#include "passes/index/Affine.h"
#include "support/Target.h"

namespace kernelc::te {

/// Whether `reduce` is a grouped convolution of 16-bit floats, `x[n, h + r, w + s, g * C + c] * f[g, j, c, r, s]`, whose groups have few
/// channels c and few results j (its index `columns`). Rows of so few channels are shorter than a tensor copy's, and most of a matrix
/// unit's tile would be padding.
bool isWindowOfGroups(ReduceOp reduce, unsigned columns, const SizeFacts &facts, const Target &target);

} // namespace kernelc::te

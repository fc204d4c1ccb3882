// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is made point by point of a product's results beside walks of them: p[i, j] = f(s[i, j], m[i]), m[i] = max_j s[i, j].
#pragma once

#include "ir/te/Te.h"
#include "support/Target.h"

namespace kernelc::te {

struct SizeFacts;

/// Gives such statements a product of their own, whose epilogue they become, where walks are all that reads the first one then, and
/// multiplying once more takes less time than memory. A remark says so.
void recomputeForPoints(KernelOp kernel, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te

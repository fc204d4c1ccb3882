// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Readers of few of a product's results, taken away so that those who walk them can do so where they are made.
#pragma once

#include "ir/te/Te.h"
#include "support/Target.h"

namespace kernelc::te {

struct SizeFacts;

/// l[i] = logsumexp_j s[i, j] - s[i, t[i]]: what reads few of a product's results gets a product of its own over those points, where
/// walks are all that reads the others then, and walking pays.
void computeFewPoints(KernelOp kernel, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te

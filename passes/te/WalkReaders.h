// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Readers of a product's results that are no walks of them, brought to a form in which those that are can walk them where they are made.
#pragma once

#include "ir/te/Te.h"
#include "support/Target.h"

namespace kernelc::te {

struct SizeFacts;

/// l[i] = logsumexp_j s[i, j] - s[i, t[i]]: what reads few of a product's results gets a product of its own over those points, where
/// walks are all that reads the others then, and walking pays.
void computeFewPoints(KernelOp kernel, const Target &target, const SizeFacts &facts);

/// Positions of largest and smallest results, as cascades of the best and where it stands, where walking the results pays.
void walkForPositions(KernelOp kernel, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te

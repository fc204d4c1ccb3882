// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.cascade as the reductions it means, one pass over the domain per component.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::reference {

/// Replaces every te.cascade of the kernel by te.reduce ops in the order of its
/// components and a te.compute per result: TeCascade.td's formulas, word by word. The
/// rescale region has no part in it.
void expandCascades(te::KernelOp kernel);

/// Gives every te.fold one result: of several, each has an op of its own.
void expandFolds(te::KernelOp kernel);

} // namespace kernelc::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of statements as the planner takes them, whatever order the text has them in.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Brings reductions over the same points that read a tensor in common, and no other statement's results, next to one another: what has
/// been computed from one of them stands behind all. A launch that has them walks once.
void gatherReductions(KernelOp kernel);

/// Brings what scatters in any order of reductions' results start from, and that reads nothing, in front of these reductions: their launch
/// may then do the scatter.
void startScattersEarly(KernelOp kernel);

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables: small tensors of which data chooses elements, many for each that there is. A block brings one into shared memory, whose banks
// serve a warp's elements wherever they lie; the first cache looks at one line after the other.
#pragma once

#include "passes/lowerings/ThreadCode.h"
#include "support/TargetCosts.h"

namespace kernelc {

/// Copies the tables of a function at its start: they are read from there.
void openTables(ThreadCode &code, const ThreadCosts &costs);

} // namespace kernelc

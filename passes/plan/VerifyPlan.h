// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Holds the plan of a kernel against what its launches read and write; see te-verify-plan in Passes.td.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Whether the `plan` attribute of `kernel` is right; if not, an internal error says where. It shares no predicate with the passes that
/// plan.
mlir::LogicalResult verifyPlan(KernelOp kernel);

} // namespace kernelc::te

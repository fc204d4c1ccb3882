// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of te.recurrence that reduce the same.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Of equal terms the op keeps the first: their dims may have other names, and nothing else may differ.
void shareTerms(RecurrenceOp op);

} // namespace kernelc::te

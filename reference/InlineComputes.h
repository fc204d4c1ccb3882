// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merges equal statements, inlines pointwise ones into their one reader and drops
// dead ones, so that chains of elementwise statements need no temporaries. te to te.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::reference {

/// A statement goes into its reader only where the reader evaluates each of its
/// elements at most once (every dim of the reader's loops moves a subscript), or
/// where it does no arithmetic.
void inlineComputes(te::KernelOp kernel);

} // namespace kernelc::reference

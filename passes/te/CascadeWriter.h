// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The op that a separation says.
#pragma once

#include "passes/te/Separate.h"

namespace kernelc::te {

/// Writes the cascade of the chain's members at the last of them, and has their users read it. May add components to `separation`.
CascadeOp writeCascade(const Chain &chain, Separation &separation);

} // namespace kernelc::te

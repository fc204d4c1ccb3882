// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers that a program's own order asks for.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace kernelc::cu {

/// Marks a barrier (`tile.barrier`, `cu.sync`) between the steps of a recurrence: what they tell each other lies in memory, whose
/// accesses cu-barriers does not order, so that it must not take the barrier away.
inline constexpr llvm::StringLiteral kStepAttr = "step";

} // namespace kernelc::cu

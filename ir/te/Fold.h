// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What goes with te.fold beside its definition.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace kernelc::te {

/// String attribute of a te.fold: what the compiler has to say of the laws of its reducer, or of why it runs in sequence.
inline constexpr llvm::StringLiteral kLawText = "law_text";

} // namespace kernelc::te

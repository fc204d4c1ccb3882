// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The math functions with a C name.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace kernelc::frontend {

/// Number of operands of a math function, 0: there is none of that name.
unsigned mathArity(llvm::StringRef name);

} // namespace kernelc::frontend

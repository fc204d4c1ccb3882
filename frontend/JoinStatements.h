// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that are defined together, written as one: see Mutual.cpp.
#pragma once

#include "frontend/Sema.h"

namespace kernelc::frontend {

/// The kernel's statements with one in the place of those of `group`; nothing after an error.
std::optional<std::vector<Statement>> joinStatements(Diagnostics &diags, Kernel &kernel, llvm::ArrayRef<Statement> body,
                                                     llvm::ArrayRef<llvm::StringRef> group);

} // namespace kernelc::frontend

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What MLIR's parser does not survive, told apart before it reads a text.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace kernelc::tools {

/// A place in a text, and what is wrong there; lines and columns from 1.
struct TextFault {
  unsigned line = 0, column = 0;
  std::string message; ///< empty where the text can be parsed, or refused by the parser itself
};

/// Brackets so deep that the parser, which calls itself for each, runs out of stack, and dense arrays (`array<index: 1>`)
/// of what has no width, which it asks for before it looks at the type.
TextFault findTextFault(llvm::StringRef text);

} // namespace kernelc::tools

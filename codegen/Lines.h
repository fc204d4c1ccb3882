// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of the CUDA text that are too long, broken as clang-format breaks them.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace kernelc::codegen {

/// Columns of a line.
inline constexpr size_t kColumns = 120;

/// A statement or comment, without its indentation of `indent` columns, as lines of no more than kColumns with theirs. It breaks behind
/// commas and operators and before `?` and `:`, as far outside of brackets as it can; what goes on stands under the bracket that it is
/// in, else four columns further in.
std::string breakLine(llvm::StringRef text, size_t indent);

} // namespace kernelc::codegen

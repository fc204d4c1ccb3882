// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inferred ranges of a kernel's indices as comment lines, for `kernelc fmt
// --ranges`. Knows where such lines stand and what they say; infers nothing.
#pragma once

#include <string>
#include <vector>

#include "frontend/Sema.h"

namespace kernelc::frontend {

/// What such a comment begins with. Lines that begin so belong to the tool.
inline constexpr llvm::StringLiteral kRangesComment = "# ranges:";

/// "# ranges: i in 0:M, j in 0:N", every index of the statement that the user's text
/// names, once; empty where there is none.
std::string rangesComment(const CoreStatement &statement, const Kernel &kernel, llvm::StringRef userText);

/// `text` without the lines that hold only such a comment.
std::string withoutRangesComments(llvm::StringRef text);

/// A comment that belongs before the statement at `offset` of the formatted text; in
/// a block on one line, before the definition at `definition`.
struct RangesComment {
  uint32_t offset, definition;
  std::string text;
};
/// The comments as lines of their own. `comments` in the order of the text.
std::string withRangesComments(llvm::StringRef text, llvm::ArrayRef<RangesComment> comments);

} // namespace kernelc::frontend

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of a text as messages quote them. Knows where, not what; no MLIR.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace kernelc {

/// Columns of a line, from 1; `end` is behind the last one.
struct Columns {
  unsigned begin, end;
};

/// Line `line` of `text`, from 1, without its end; empty where there is none.
absl::string_view lineOf(absl::string_view text, unsigned line);

/// "\n  ", the line, or of a long one what stands around the column, and below it a caret and what is underlined.
std::string quote(absl::string_view line, size_t column, absl::Span<const Columns> underlined);

/// Names of any length, as `message` has them, cut to what a reader can tell apart.
std::string shortenNames(absl::string_view message);

/// "file:line:column: error: `message`", the line, a caret; of the bytes from `begin` to `end` of a file's text.
std::string renderError(absl::string_view fileName, absl::string_view text, size_t begin, size_t end, absl::string_view message);

} // namespace kernelc

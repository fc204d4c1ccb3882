// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `#line` marks of an emitted CUDA text: which line of which `.kc` file each
// of its lines comes from. The one place that says what a mark means.
//
// A mark holds, as it stands, for all lines up to the next mark: the emitted text
// has one where the source line changes, not one per line. The C preprocessor
// instead counts on from a mark; pinned() is the text for compilers, which do so.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "support/Artifact.h"

namespace kernelc {

class LineMarks {
public:
  explicit LineMarks(absl::string_view text);
  LineMarks(const LineMarks &) = delete; // lines_ points into text_
  LineMarks &operator=(const LineMarks &) = delete;

  /// The source of line `line` of the text, from 1; `.line` is 0 where no mark
  /// stands before it, on a mark itself, and outside the text.
  SourceLoc at(int line) const;
  /// Line `line` of the text, without its end; empty outside the text.
  absl::string_view textOf(int line) const;
  int numLines() const { return int(lines_.size()); }

  /// The text with every mark an empty line: lines keep their numbers.
  std::string blanked() const;
  /// The text with marks wherever a compiler would count away from the source
  /// line. A text without marks comes back as it is.
  std::string pinned() const;

private:
  struct Line {
    absl::string_view text;
    int file = -1; ///< into files_
    int source = 0;
    bool isMark = false;
  };
  std::string text_;
  std::vector<std::string> files_;
  std::vector<Line> lines_;
};

} // namespace kernelc

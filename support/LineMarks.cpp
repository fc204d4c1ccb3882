// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/LineMarks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kernelc {
namespace {

using absl::string_view;

/// Reads `# line 12 "a.kc"`; the file is empty where the mark names none.
bool parseMark(string_view line, int *number, std::string *file) {
  string_view rest = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&rest, "#"))
    return false;
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, "line") || rest.empty() || !absl::ascii_isspace(rest[0]))
    return false;
  rest = absl::StripLeadingAsciiWhitespace(rest);
  size_t digits = 0;
  while (digits < rest.size() && absl::ascii_isdigit(rest[digits]))
    ++digits;
  if (!absl::SimpleAtoi(rest.substr(0, digits), number))
    *number = 0;
  size_t open = rest.find('"'), close = rest.rfind('"');
  if (open != string_view::npos && close > open)
    *file = std::string(rest.substr(open + 1, close - open - 1));
  return true;
}

} // namespace

LineMarks::LineMarks(string_view text) : text_(text) {
  Line current;
  for (string_view line : absl::StrSplit(text_, '\n')) {
    int number = 0;
    std::string file;
    if (!parseMark(line, &number, &file)) {
      lines_.push_back({line, current.file, current.source, false});
      continue;
    }
    lines_.push_back({line, -1, 0, true});
    if (number <= 0)
      continue; // not a mark that a compiler would take
    current.source = number;
    if (!file.empty()) {
      current.file = int(std::find(files_.begin(), files_.end(), file) - files_.begin());
      if (size_t(current.file) == files_.size())
        files_.push_back(std::move(file));
    }
  }
}

SourceLoc LineMarks::at(int line) const {
  if (line < 1 || line > numLines() || lines_[line - 1].file < 0)
    return {};
  return {files_[lines_[line - 1].file], lines_[line - 1].source, 0};
}

string_view LineMarks::textOf(int line) const { return line < 1 || line > numLines() ? string_view() : lines_[line - 1].text; }

std::string LineMarks::blanked() const {
  std::string out;
  out.reserve(text_.size());
  for (const Line &line : lines_) {
    if (!line.isMark)
      absl::StrAppend(&out, line.text);
    out += '\n';
  }
  out.pop_back(); // there is one end of line less than there are lines
  return out;
}

std::string LineMarks::pinned() const {
  std::string out;
  out.reserve(text_.size() * 2);
  int counted = -1; // what a compiler takes the next line for; -1: a mark stands before it
  bool continued = false;
  for (const Line &line : lines_) {
    if (line.isMark) {
      absl::StrAppend(&out, line.text, "\n");
      counted = -1;
      continue;
    }
    if (line.file >= 0) {
      bool blank = absl::StripLeadingAsciiWhitespace(line.text).empty();
      if (counted == -1)
        counted = line.source;
      // Not inside a line that a backslash continues.
      if (counted != line.source && !blank && !continued) {
        absl::StrAppend(&out, "#line ", line.source, "\n");
        counted = line.source;
      }
      ++counted;
    }
    continued = absl::EndsWith(line.text, "\\");
    absl::StrAppend(&out, line.text, "\n");
  }
  out.pop_back();
  return out;
}

} // namespace kernelc

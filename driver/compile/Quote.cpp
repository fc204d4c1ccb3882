// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Quote.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

constexpr size_t kLongestQuote = 160; // a line of noise helps nobody
constexpr size_t kLongestName = 80;
constexpr absl::string_view kLeftOut = "…";

bool isContinuation(char c) { return (c & 0xc0) == 0x80; } // of a character of several bytes

} // namespace

absl::string_view lineOf(absl::string_view text, unsigned line) {
  size_t begin = 0;
  for (unsigned i = 1; i < line; ++i) {
    size_t end = text.find('\n', begin);
    if (end == absl::string_view::npos)
      return {};
    begin = end + 1;
  }
  absl::string_view rest = text.substr(begin);
  return rest.substr(0, rest.find('\n'));
}

std::string shortenNames(absl::string_view message) {
  auto isName = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  std::string out;
  for (size_t at = 0; at < message.size();) {
    size_t end = at;
    while (end < message.size() && isName(message[end]))
      ++end;
    bool isLong = end - at > kLongestName;
    absl::StrAppend(&out, message.substr(at, isLong ? kLongestName : end - at), isLong ? kLeftOut : "");
    at = end;
    if (at < message.size())
      out += message[at++];
  }
  return out;
}

std::string quote(absl::string_view line, size_t column, absl::Span<const Columns> underlined) {
  size_t at = std::min(column - 1, line.size()), begin = 0, end = line.size();
  if (line.size() > kLongestQuote) {
    begin = std::min(at < kLongestQuote / 2 ? 0 : at - kLongestQuote / 2, line.size() - kLongestQuote);
    end = begin + kLongestQuote;
    while (begin < at && isContinuation(line[begin]))
      ++begin;
    while (end < line.size() && isContinuation(line[end]))
      ++end;
  }
  bool cutLeft = begin > 0, cutRight = end < line.size();
  size_t first = line.find_first_not_of(" \t"), last = line.substr(0, line.find('#')).find_last_not_of(" \t");
  std::string marks = cutLeft ? " " : "";
  for (size_t c = begin; c < std::max(end, at + 1); ++c) {
    bool isText = c >= first && last != absl::string_view::npos && c <= last;
    bool isMarked =
        isText && std::any_of(underlined.begin(), underlined.end(), [&](Columns u) { return c + 1 >= u.begin && c + 1 < u.end; });
    if (c < line.size() && isContinuation(line[c]))
      continue;
    marks += c == at ? '^' : isMarked ? '~' : c < line.size() && line[c] == '\t' ? '\t' : ' ';
  }
  marks.resize(marks.find_last_not_of(" \t") + 1);
  return absl::StrCat("\n  ", cutLeft ? kLeftOut : "", line.substr(begin, end - begin), cutRight ? kLeftOut : "", "\n  ", marks);
}

std::string renderError(absl::string_view fileName, absl::string_view text, size_t begin, size_t end, absl::string_view message) {
  begin = std::min(begin, text.size());
  absl::string_view before = text.substr(0, begin);
  unsigned line = unsigned(1 + std::count(before.begin(), before.end(), '\n'));
  unsigned column = unsigned(before.size() - (before.rfind('\n') + 1) + 1); // npos + 1 is 0
  std::string out = absl::StrCat(fileName, ":", line, ":", column, ": error: ", shortenNames(message));
  absl::string_view quoted = lineOf(text, line);
  return quoted.empty() ? out : out + quote(quoted, column, {{column, unsigned(column + (std::max(begin, end) - begin))}});
}

} // namespace kernelc

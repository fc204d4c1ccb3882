// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Messages.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace kernelc::tools {
namespace {

constexpr absl::string_view kBold = "\x1b[1m", kGreen = "\x1b[1;32m", kReset = "\x1b[0m";

struct Severity {
  absl::string_view word, color;
};
constexpr Severity kSeverities[] = {{"error", "\x1b[1;31m"}, {"warning", "\x1b[1;35m"}, {"remark", "\x1b[1;34m"}, {"note", "\x1b[1;36m"}};

bool &isColored() {
  static bool on = false;
  return on;
}

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value;
}

/// A line of carets below a quoted one.
bool isMarks(absl::string_view line) {
  return absl::StartsWith(line, "  ") && line.find('^') != absl::string_view::npos &&
         line.find_first_not_of(" \t^~") == absl::string_view::npos;
}

std::string coloredLine(absl::string_view line) {
  if (isMarks(line))
    return absl::StrCat(kGreen, line, kReset);
  if (absl::StartsWith(line, "  ")) // a quoted line
    return std::string(line);
  // The first severity is the message's own, whatever its text quotes.
  size_t first = absl::string_view::npos;
  const Severity *found = nullptr;
  for (const Severity &s : kSeverities)
    if (size_t at = line.find(absl::StrCat(": ", s.word, ": ")); at < first) {
      first = at;
      found = &s;
    }
  if (!found)
    return std::string(line);
  size_t word = first + 2, rest = word + found->word.size() + 1;
  bool isBold = found->word != "note" && found->word != "remark";
  return absl::StrCat(kBold, line.substr(0, word), kReset, found->color, line.substr(word, rest - word), kReset, isBold ? kBold : "",
                      line.substr(rest), isBold ? kReset : "");
}

} // namespace

bool setColor(const std::string &mode) {
  if (mode == "always" || mode == "never") {
    isColored() = mode == "always";
    return true;
  }
  const char *term = std::getenv("TERM");
  isColored() = !isSet("NO_COLOR") && ::isatty(STDERR_FILENO) && !(term && absl::string_view(term) == "dumb");
  return mode == "auto";
}

std::string colored(const std::string &text) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    absl::StrAppend(&out, out.empty() ? "" : "\n", coloredLine(line));
  return out;
}

void printMessage(const std::string &text) { std::cerr << (isColored() ? colored(text) : text) << "\n"; }

} // namespace kernelc::tools

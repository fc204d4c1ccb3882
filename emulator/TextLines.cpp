// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/TextLines.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kernelc::emulator {

/// A comment behind code ends its line: what is put behind it would be part of it.
static void dropComment(std::string &line) {
  if (size_t comment = line.find(" // "); comment != std::string::npos)
    line.resize(comment);
  absl::StripTrailingAsciiWhitespace(&line);
}

std::vector<std::string> splitStatements(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  bool inKernel = false;
  for (size_t i = 0; i < lines.size(); i++) {
    inKernel = (inKernel || absl::StrContains(lines[i], "__global__")) && !absl::StartsWith(lines[i], "}");
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (!inKernel || line.empty() || line[0] == '#' || absl::StartsWith(line, "//"))
      continue;
    std::string &whole = lines[i];
    dropComment(whole);
    while (i + 1 < lines.size() && whole.find_last_of(";{}") != whole.size() - 1) {
      std::string next = std::exchange(lines[++i], "");
      dropComment(next);
      absl::StrAppend(&whole, absl::EndsWith(whole, "(") ? "" : " ", absl::StripAsciiWhitespace(next));
    }
  }
  return lines;
}

size_t statementEnd(absl::string_view line, size_t at) {
  size_t end = line.find(';', at);
  return end == absl::string_view::npos ? line.size() : end + 1;
}

size_t blockEnd(const std::vector<std::string> &lines, size_t open) {
  const std::string close = std::string(lines[open].find_first_not_of(' '), ' ') + "}";
  size_t end = open + 1;
  while (end < lines.size() && lines[end] != close && lines[end] != close + ";")
    end++;
  return end;
}

size_t openerOf(const std::vector<std::string> &lines, size_t at) {
  const size_t depth = depthOf(lines[at]).value_or(0);
  while (at > 0 && !(absl::EndsWith(lines[at], "{") && depthOf(lines[at]).value_or(depth) < depth))
    at--;
  return at;
}

std::optional<size_t> depthOf(const std::string &line) {
  size_t first = line.find_first_not_of(' ');
  return first == std::string::npos || line[first] == '#' ? std::nullopt : std::optional(first);
}

bool anyVisible(const std::vector<std::string> &lines, size_t before, absl::FunctionRef<bool(const std::string &)> holds) {
  size_t most = before < lines.size() ? depthOf(lines[before]).value_or(std::string::npos) : std::string::npos;
  for (size_t i = before; i-- > 0 && !absl::StrContains(lines[i], "__global__");)
    if (std::optional<size_t> depth = depthOf(lines[i]); depth && *depth <= most) {
      if (holds(lines[i]))
        return true;
      most = *depth;
    }
  return false;
}

std::optional<size_t> findLambda(const std::vector<std::string> &lines, size_t at) {
  absl::string_view line = absl::StripAsciiWhitespace(lines[at]), name = line.substr(0, line.find('('));
  auto isWord = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (name.empty() || name.size() == line.size() || !std::all_of(name.begin(), name.end(), isWord))
    return std::nullopt;
  std::string begin = absl::StrCat("const auto ", name, " = [");
  std::optional<size_t> found;
  anyVisible(lines, at, [&](const std::string &l) {
    if (absl::StrContains(l, begin))
      found = size_t(&l - lines.data());
    return found.has_value();
  });
  return found;
}

bool mentions(absl::string_view text, const std::string &name) {
  auto isWord = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1))
    if (!(at > 0 && isWord(text[at - 1])) && !(at + name.size() < text.size() && isWord(text[at + name.size()])))
      return true;
  return false;
}

size_t findAssignment(absl::string_view line) {
  for (size_t equals = line.find("= "); equals != absl::string_view::npos; equals = line.find("= ", equals + 1)) {
    if (equals > 0 && line[equals - 1] == ' ')
      return equals - 1;
    if (equals > 1 && line[equals - 2] == ' ' && absl::StrContains("+-*/%&|^", line.substr(equals - 1, 1)))
      return equals - 2;
  }
  return absl::string_view::npos;
}

absl::string_view assignedName(absl::string_view line) {
  size_t assignment = findAssignment(line);
  if (assignment == absl::string_view::npos)
    return {};
  absl::string_view left = line.substr(0, assignment);
  if (size_t cast = left.find(')'); absl::StartsWith(left, "*(") && cast != absl::string_view::npos) {
    left.remove_prefix(cast + 1);
    absl::ConsumePrefix(&left, "&");
  }
  absl::string_view name = left.substr(0, left.find('['));
  return absl::StrContains(name, ' ') ? absl::string_view() : name;
}

std::pair<size_t, std::string> targetOf(const std::string &line) {
  size_t first = line.find_first_not_of(' '), assignment = findAssignment(line);
  return {statementEnd(line, assignment), line.substr(first, assignment - first)};
}

bool isShared(const std::vector<std::string> &lines, size_t before, absl::string_view name) {
  std::string declared = absl::StrCat(" *const ", name, " = ");
  return anyVisible(lines, before, [&](const std::string &l) { return absl::StrContains(l, declared); });
}

bool isOwn(const std::vector<std::string> &lines, size_t from, size_t to, absl::string_view name) {
  return std::any_of(lines.begin() + int64_t(from) + 1, lines.begin() + int64_t(to), [&](const std::string &l) {
    return absl::EndsWith(l, ";") &&
           (absl::StrContains(l, absl::StrCat(" ", name, "[")) || absl::StrContains(l, absl::StrCat(" ", name, ";"))) &&
           !absl::StrContains(l, "=") && !absl::StrContains(l, "kc_");
  });
}

bool isRegister(const std::vector<std::string> &lines, size_t before, absl::string_view name) {
  if (name.empty())
    return false;
  std::string array = absl::StrCat(" ", name, "["), plain = absl::StrCat(" ", name, ";"), set = absl::StrCat(" ", name, " = ");
  return anyVisible(lines, before, [&](const std::string &l) {
    static const char *const kTypes[] = {"alignas(", "unsigned ", "float ", "int ", "short ",  "bool ",
                                         "long ",    "double ",   "char ",  "f16 ", "f8e4m3 ", "f8e5m2 "}; // (and bf16)
    bool declares = std::any_of(std::begin(kTypes), std::end(kTypes), [&](const char *type) { return absl::StrContains(l, type); });
    bool names = (absl::EndsWith(l, "];") && absl::StrContains(l, array) && !absl::StrContains(l, "=")) || absl::StrContains(l, plain) ||
                 absl::StrContains(l, set);
    return declares && names && !absl::StrContains(l, " *const ") && !absl::StrContains(l, "__shared__");
  });
}

absl::string_view declaredFloats(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (absl::ConsumePrefix(&line, "alignas("))
    line = absl::StripLeadingAsciiWhitespace(line.substr(std::min(line.size(), line.find(')') + 1)));
  if (!absl::ConsumePrefix(&line, "float ") || !absl::ConsumeSuffix(&line, "];"))
    return {};
  size_t bracket = line.find('[');
  bool isNumber = bracket != absl::string_view::npos && bracket + 1 < line.size() &&
                  std::all_of(line.begin() + std::ptrdiff_t(bracket) + 1, line.end(), absl::ascii_isdigit);
  return isNumber && line.find(' ') == absl::string_view::npos ? line.substr(0, bracket) : absl::string_view();
}

} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/Lines.h"

#include <optional>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace kernelc::codegen {
namespace {

/// Where a line may end.
struct Break {
  size_t at;      ///< the first character of the next line
  size_t depth;   ///< brackets that are open
  int binds;      ///< how tightly what stands at both sides holds together
  size_t bracket; ///< the character behind the innermost open one
};

constexpr int kAssignment = -1; ///< first of all, where the rest is one line then

/// How tightly an operator binds that a line may end behind, or in front of (`?`, `:`); none for other text.
std::optional<int> bindingOf(StringRef word) {
  bool compares = word == "==" || word == "!=" || word == "<=" || word == ">=";
  if (word.ends_with("=") && !compares)
    return kAssignment;
  static const std::pair<StringRef, int> kOperators[] = {{"?", 1},  {":", 2},  {"||", 3}, {"&&", 4}, {"|", 5}, {"^", 5},  {"&", 5},
                                                         {"==", 6}, {"!=", 6}, {"<", 6},  {"<=", 6}, {">", 6}, {">=", 6}, {"<<", 7},
                                                         {">>", 7}, {"+", 8},  {"-", 8},  {"*", 9},  {"/", 9}, {"%", 9}};
  for (auto [symbol, binds] : kOperators)
    if (word == symbol)
      return binds;
  return std::nullopt;
}

std::vector<Break> breaksOf(StringRef text) {
  std::vector<Break> breaks;
  std::vector<size_t> open; // what stands behind each bracket
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool isTemplate = c == '<' && i > 0 && llvm::isAlnum(text[i - 1]); // operators have spaces around them
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
    } else if (c == '(' || c == '[' || isTemplate) {
      open.push_back(i + 1);
    } else if ((c == ')' || c == ']' || (c == '>' && text[i - 1] != ' ')) && !open.empty()) {
      open.pop_back();
    } else if (c == ' ' && i > 0) {
      StringRef before = text.take_front(i).rsplit(' ').second, after = text.drop_front(i + 1).split(' ').first;
      bool isChoice = after == "?" || after == ":";
      std::optional<int> binds = text[i - 1] == ',' ? 0 : isChoice ? bindingOf(after) : bindingOf(before);
      if (binds && before != "?" && before != ":")
        breaks.push_back({i + 1, open.size(), *binds, open.empty() ? 0 : open.back()});
    }
  }
  return breaks;
}

/// What goes on is a comment of its own.
std::string breakComment(StringRef text, size_t indent) {
  const std::string margin(indent, ' ');
  std::string lines;
  for (StringRef rest = text.drop_front(2).ltrim(); !rest.empty();) {
    size_t room = kColumns - std::min(kColumns - 1, indent + 3),
           end = rest.size() <= room ? rest.size() : rest.take_front(room + 1).rfind(' ');
    end = end == StringRef::npos ? rest.find(' ') : end; // a word that is too long
    lines += margin + "// " + rest.take_front(end).str() + "\n";
    rest = rest.drop_front(std::min(end, rest.size())).ltrim();
  }
  return lines;
}

} // namespace

std::string breakLine(StringRef text, size_t indent) {
  const std::string margin(indent, ' ');
  if (indent + text.size() <= kColumns)
    return margin + text.str() + "\n";
  if (text.starts_with("// "))
    return breakComment(text, indent);
  std::vector<Break> breaks = breaksOf(text);
  std::vector<size_t> columns(text.size() + 1);
  std::string lines;
  size_t from = 0, column = indent;
  // Where the line that begins with `from` ends best.
  auto findBest = [&] {
    const Break *best = nullptr;
    for (const Break &b : breaks) {
      bool fits = b.at > from && column + (b.at - 1 - from) <= kColumns;
      bool isAssignment = b.binds == kAssignment, restFits = indent + 4 + text.size() - b.at <= kColumns;
      if (fits && (!isAssignment || restFits) && (!best || std::pair(b.depth, b.binds) <= std::pair(best->depth, best->binds)))
        best = &b;
    }
    return best;
  };
  auto isTooLong = [&] { return column + text.size() - from > kColumns; };
  while (isTooLong()) {
    const Break *best = findBest();
    if (!best)
      break;
    for (size_t i = from; i < best->at; ++i)
      columns[i] = column + i - from;
    lines += std::string(column, ' ') + text.slice(from, best->at - 1).str() + "\n";
    from = best->at;
    column = (best->depth ? columns[best->bracket] : indent) + (best->depth && text[from] != '?' ? 0 : 4);
    if (isTooLong() && !findBest()) // under the bracket there is no room
      column = indent + 4;
  }
  return lines + std::string(column, ' ') + text.drop_front(from).str() + "\n";
}

} // namespace kernelc::codegen

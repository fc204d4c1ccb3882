// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textual mutants of emitted CUDA, as switches in one text. Each statement begins a
// line (TextLines.h), which is what this relies on; a call inside a larger expression is left alone.
#include "emulator/Mutate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "emulator/HostCompiler.h"
#include "emulator/TextBlocks.h"
#include "emulator/TextLines.h"

namespace kernelc::emulator {
namespace {

/// The lines of `if (.. && name && ..) {` where all else that mentions `name`, defined in line `from`, in its block are other masks
/// `const bool m = .. && name;` of which the same holds; their blocks too. Else none: its value counts.
std::vector<size_t> blocksGuardedBy(const std::vector<std::string> &lines, size_t from, const std::string &name) {
  std::vector<size_t> blocks;
  size_t depth = depthOf(lines[from]).value_or(0);
  for (size_t i = from + 1; i < lines.size() && depthOf(lines[i]).value_or(depth) >= depth; i++) {
    if (!mentions(lines[i], name))
      continue;
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (line.find_first_of("|!?") != absl::string_view::npos)
      return {};
    if (absl::StartsWith(line, "if (") && absl::EndsWith(line, ") {")) {
      blocks.push_back(i);
      continue;
    }
    if (!absl::ConsumePrefix(&line, "const bool "))
      return {};
    std::vector<size_t> inner = blocksGuardedBy(lines, i, std::string(line.substr(0, line.find(' '))));
    if (inner.empty())
      return {};
    blocks.insert(blocks.end(), inner.begin(), inner.end());
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

/// The blocks of the rounds that `const int ROUNDS = kc_count_where<..>(.., [&](..) { .. return NAME; });` counts, of whose lambda line
/// `at` defines NAME: a round too many has its own masks.
std::vector<size_t> roundsCountedBy(const std::vector<std::string> &lines, size_t at, const std::string &name) {
  size_t open = openerOf(lines, at), end = at + 1;
  while (end < lines.size() && !depthOf(lines[end]))
    end++;
  size_t count = lines[open].find(" = kc_count_where<"), begin = lines[open].find("const int ");
  if (count == std::string::npos || begin == std::string::npos || end >= lines.size() ||
      absl::StripAsciiWhitespace(lines[end]) != absl::StrCat("return ", name, ";"))
    return {};
  std::string rounds = lines[open].substr(begin + 10, count - begin - 10);
  std::vector<size_t> blocks;
  for (size_t i = end, depth = depthOf(lines[open]).value_or(0); i < lines.size() && depthOf(lines[i]).value_or(depth) >= depth; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (mentions(lines[i], rounds) && absl::EndsWith(line, "{") && (absl::StartsWith(line, "if (") || absl::StartsWith(line, "for (")))
      blocks.push_back(i);
  }
  return blocks;
}

/// What says that lambda `.. = kc_find_where<..>(START, END, [&](const int AT) {` around line `at`, if there is one, is not asked about the
/// start: there alone a condition made true finds something else. Else empty.
std::string beyondStartOf(const std::vector<std::string> &lines, size_t at) {
  at = openerOf(lines, at);
  const std::string call = "kc_find_where<int>(", lambda = ", [&](const int ";
  size_t begin = lines[at].find(call), end = lines[at].find(lambda);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return "";
  begin += call.size();
  size_t comma = lines[at].rfind(',', end - 1), name = end + lambda.size();
  if (comma == std::string::npos || comma < begin)
    return "";
  return absl::StrCat(lines[at].substr(name, lines[at].find(')', name) - name), " != (", lines[at].substr(begin, comma - begin), ")");
}

/// `x != x`: part of how two values combine, no mask.
bool isNanTest(absl::string_view condition) {
  std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(condition, absl::MaxSplits(" != ", 1));
  return sides.first == sides.second;
}

/// Where the test of `sums[i] = x != x;` begins: whether a tile is summed again without what its masks exclude.
std::optional<size_t> findTestOfSums(const std::string &line) {
  size_t equals = line.find(" = "), end = line.rfind(';');
  if (equals == std::string::npos || end == std::string::npos || end < equals || line[equals - 1] != ']')
    return std::nullopt;
  return isNanTest(absl::string_view(line).substr(equals + 3, end - equals - 3)) ? std::optional(equals + 3) : std::nullopt;
}

/// A text on the way to its mutants, line by line.
class MutantWriter {
public:
  explicit MutantWriter(absl::string_view text) : text_(splitStatements(text)), lines_(text_), marks_(text) {}

  Mutants write() {
    bool deviceOnly = false, inKernel = false;
    for (size_t i = 0; i < text_.size(); i++) {
      const std::string &line = text_[i];
      if (absl::StartsWith(line, "#ifndef KC_HOST"))
        deviceOnly = true;
      if (absl::StartsWith(line, "#e"))
        deviceOnly = false;
      inKernel = (inKernel || absl::StrContains(line, "__global__")) && !absl::StartsWith(line, "}");
      if (!deviceOnly && inKernel && !absl::StrContains(line, "__global__"))
        takeLine(i, line);
    }
    finish();
    return std::move(mutants_);
  }

private:
  void takeLine(size_t i, const std::string &line) {
    if (findTestOfSums(line))
      testsOfSums_.push_back(i);
    if (!declaredFloats(line).empty())
      unwritten_.push_back(i);
    for (const char *call : kSynchronising)
      if (size_t at = line.find(call); at != std::string::npos) {
        add(i, at, statementEnd(line, at), false);
        break;
      }
    // Masks: `const bool name = ...;` and `if (...)`, made true.
    if (size_t at = line.find("const bool "); at != std::string::npos)
      addNamedMask(i, line, at);
    else if (size_t at = line.find("if ("); at != std::string::npos && absl::EndsWith(line, "{"))
      addBlockMask(i, line, at);
  }

  /// `const bool NAME = CONDITION;` at `at` of line i.
  void addNamedMask(size_t i, const std::string &line, size_t at) {
    size_t equals = line.find(" = ", at), end = line.rfind(';');
    if (equals == std::string::npos || end == std::string::npos || end < equals || isNanTest(line.substr(equals + 3, end - equals - 3)))
      return;
    std::string name = line.substr(at + 11, equals - at - 11);
    std::vector<size_t> blocks = blocksGuardedBy(text_, i, name);
    auto allHold = [&](bool (*holds)(const std::vector<std::string> &, size_t)) {
      return !blocks.empty() && std::all_of(blocks.begin(), blocks.end(), [&](size_t block) { return holds(text_, block); });
    };
    bool onlySynchronises = allHold(holdsOnlySynchronisation), onlyCopies = allHold(holdsOnlyCopies),
         onlyRegisters = spoil(blocks, mutants_.all.size());
    bool isShortCut = allHold(isLastRound) || allHold(writesUnderMasks);
    if (blocks.empty()) {
      blocks = roundsCountedBy(text_, i, name);
      isShortCut = !blocks.empty();
    }
    Mutant &m = add(i, equals + 3, end, true);
    if (isShortCut)
      for (size_t block : blocks)
        m.shortCuts.emplace_back(int(block) + 1, int(blockEnd(text_, block)));
    m.onlySynchronises = onlySynchronises;
    m.onlyCopies = onlyCopies;
    m.onlyRegisters = onlyRegisters;
  }

  /// `if (CONDITION) {` at `at` of line i.
  void addBlockMask(size_t i, const std::string &line, size_t at) {
    size_t close = line.rfind(')');
    if (close == std::string::npos || close <= at + 4)
      return;
    bool onlySynchronises = holdsOnlySynchronisation(text_, i), onlyCopies = holdsOnlyCopies(text_, i),
         onlyRegisters = spoil({i}, mutants_.all.size()),
         onlyInside = writesOnlyInside(text_, i) || writesUnderMasks(text_, i) || isLastRound(text_, i);
    bool addsZero = addsNothing(text_, i);
    Mutant &m = add(i, at + 4, close, true);
    m.addsNothing = addsZero;
    if (onlyInside)
      m.shortCuts.emplace_back(int(i) + 1, int(blockEnd(text_, i)));
    m.onlyRegisters = onlyRegisters;
    m.onlySynchronises = onlySynchronises;
    m.onlyCopies = onlyCopies;
  }

  /// Whether `blocks` set nothing but registers; those of mutant `number` are then spoiled.
  bool spoil(const std::vector<size_t> &blocks, size_t number) {
    std::vector<size_t> set;
    if (blocks.empty() || !std::all_of(blocks.begin(), blocks.end(), [&](size_t block) { return findRegisters(text_, block, set); }))
      return false;
    for (size_t line : set)
      spoils_.push_back({line, absl::StrCat(" kce_spoil(", number, ", kce_held", number, ", ", targetOf(text_[line]).second, ");")});
    return true;
  }

  /// Puts a switch around [from, to) of the line.
  Mutant &add(size_t index, size_t from, size_t to, bool mask) {
    std::string &line = lines_[index], old = line.substr(from, to - from);
    size_t number = mutants_.all.size();
    Mutant m;
    m.where = locateLine(marks_, int(index) + 1);
    m.mask = mask;
    m.removed = std::string(absl::StripAsciiWhitespace(old));
    mutants_.all.push_back(std::move(m));
    std::string with = absl::StrCat("{ if (kce_kept(", number, ")) { ", old, " } }");
    if (mask) {
      // The condition's own outcome stays known as kce_held<number>.
      std::string held = absl::StrCat("kce_held", number), declared = absl::StrCat("bool ", held, " = (", old, "); ");
      std::string beyond = beyondStartOf(text_, index);
      with = absl::StrCat("kce_forced(", number, ") || ",
                          beyond.empty() ? absl::StrCat("kce_mask(", number, ", ", held, ")")
                                         : absl::StrCat("(kce_mask(", number, ", ", held, " || ", beyond, ") && ", held, ")"));
      if (size_t begin = line.find("const bool "); begin < from)
        line.insert(begin, declared), from += declared.size(), to += declared.size();
      else
        with = declared + with;
    }
    line.replace(from, to - from, with);
    return mutants_.all.back();
  }

  /// What is said of lines that had to stay as they were for all others to be understood.
  void finish() {
    for (const auto &[line, call] : spoils_)
      lines_[line].insert(targetOf(lines_[line]).first, call);
    for (size_t i : unwritten_) // what is read of them before it is written is a NaN, not what the stack happens to hold
      absl::StrAppend(&lines_[i], " for (float &kce_float : ", std::string(declaredFloats(lines_[i])),
                      ") kce_float = __int_as_float(0x7fffffff);");
    mutants_.sumsAgain = !testsOfSums_.empty();
    for (size_t i : testsOfSums_)
      lines_[i].insert(*findTestOfSums(lines_[i]), absl::StrCat("!kce_forced(", mutants_.all.size(), ") && "));
    mutants_.text = absl::StrJoin(lines_, "\n");
  }

  const std::vector<std::string> text_; ///< as it was
  std::vector<std::string> lines_;
  LineMarks marks_;
  Mutants mutants_;
  std::vector<std::pair<size_t, std::string>> spoils_; ///< lines, and what stands behind them
  std::vector<size_t> testsOfSums_, unwritten_;
};

} // namespace

Mutants mutantsOf(absl::string_view text) { return MutantWriter(text).write(); }

} // namespace kernelc::emulator

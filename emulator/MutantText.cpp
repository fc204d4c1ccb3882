// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textual mutants of emitted CUDA, as switches in one text. Each statement begins a
// line, which is what this relies on; a call inside a larger expression is left alone.
#include "emulator/Mutate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "emulator/HostCompiler.h"

namespace kernelc::emulator {
namespace {

/// What the emulator follows: a race, a stale read or a lost completion that one of
/// these prevents is a finding without it, whatever the schedule of the run.
const char *const kSynchronising[] = {
    "__syncthreads(",      "__syncwarp(",        "__threadfence",      "kc_bar_sync(",           "kc_bar_arrive(",
    "kc_cluster_sync(",    "kc_cluster_arrive(", "kc_cluster_wait(",   "kc_cp_async_wait<",      "kc_cp_async_commit(",
    "kc_cp_async_arrive(", "kc_mbarrier_wait(",  "kc_mbarrier_arrive", "kc_mbarrier_expect_tx(", "kc_fence_",
    "kc_wgmma_fence(",     "kc_wgmma_commit(",   "kc_wgmma_wait<",     "kc_tma_commit(",         "kc_tma_wait"};

/// The end of the statement that begins at `at`: past its semicolon.
size_t statementEnd(absl::string_view line, size_t at) {
  size_t end = line.find(';', at);
  return end == absl::string_view::npos ? line.size() : end + 1;
}

/// The line that closes the block that line `open` opens; of a lambda, with a semicolon.
size_t blockEnd(const std::vector<std::string> &lines, size_t open) {
  const std::string close = std::string(lines[open].find_first_not_of(' '), ' ') + "}";
  size_t end = open + 1;
  while (end < lines.size() && lines[end] != close && lines[end] != close + ";")
    end++;
  return end;
}

/// How far a line stands in, which is how deep its block is; nothing for lines of the preprocessor.
std::optional<size_t> depthOf(const std::string &line) {
  size_t first = line.find_first_not_of(' ');
  return first == std::string::npos || line[first] == '#' ? std::nullopt : std::optional(first);
}

/// Whether one of the lines that declare what line `before` of a kernel can see does what `holds` asks. Names are used again
/// in blocks that do not see each other.
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

/// The line that begins the lambda `const auto NAME = [&](..) {`, or `[=]`, that line `at`, `NAME(..);`, calls; nothing for other lines.
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

/// Whether the block that line `open` opens only synchronises, and prefetches: where nothing needs the calls, too many
/// of them are as good as too few.
bool holdsOnlySynchronisation(const std::vector<std::string> &lines, size_t open) {
  bool any = false;
  for (size_t i = open + 1, end = blockEnd(lines, open); i < end; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    auto startsLine = [&](const char *call) { return absl::StartsWith(line, call); };
    if (std::optional<size_t> lambda = findLambda(lines, i); lambda && holdsOnlySynchronisation(lines, *lambda))
      any = true;
    else if (startsLine("kc_prefetch_") || std::any_of(std::begin(kSynchronising), std::end(kSynchronising), startsLine))
      any = true;
    else if (!line.empty() && line != "}" && !startsLine("#line") && !startsLine("//") && !startsLine("const int ") && !startsLine("if ("))
      return false;
  }
  return any;
}

/// Where ` = ` or ` += ` of an assignment begins; npos in other lines. (` <= ` and the like compare.)
size_t findAssignment(absl::string_view line) {
  for (size_t equals = line.find("= "); equals != absl::string_view::npos; equals = line.find("= ", equals + 1)) {
    if (equals > 0 && line[equals - 1] == ' ')
      return equals - 1;
    if (equals > 1 && line[equals - 2] == ' ' && absl::StrContains("+-*/%&|^", line.substr(equals - 1, 1)))
      return equals - 2;
  }
  return absl::string_view::npos;
}

/// The array or variable that an assignment such as `*(uint4 *)(&a[i]) = ..`, `*(uint4 *)(a) = ..` or `a[i] += ..` writes;
/// empty for what is no assignment, or declares its target.
absl::string_view assignedName(absl::string_view line) {
  size_t assignment = findAssignment(line);
  if (assignment == absl::string_view::npos)
    return {};
  absl::string_view left = line.substr(0, assignment);
  if (size_t address = left.find(")("); absl::StartsWith(left, "*(") && address != absl::string_view::npos) {
    left.remove_prefix(address + 2);
    absl::ConsumePrefix(&left, "&");
  }
  absl::string_view name = left.substr(0, left.find_first_of("[)"));
  return absl::StrContains(name, ' ') ? absl::string_view() : name;
}

/// Whether `name` is an array in shared memory, declared before line `before`.
bool isShared(const std::vector<std::string> &lines, size_t before, absl::string_view name) {
  std::string declared = absl::StrCat(" *const ", name, " = (");
  return anyVisible(lines, before,
                    [&](const std::string &l) { return absl::StrContains(l, declared) && absl::StrContains(l, "(kc_shared()"); });
}

/// Whether `name` is a variable or an array of the thread, declared without a value in lines (from, to).
bool isOwn(const std::vector<std::string> &lines, size_t from, size_t to, absl::string_view name) {
  return std::any_of(lines.begin() + int64_t(from) + 1, lines.begin() + int64_t(to), [&](const std::string &l) {
    return absl::EndsWith(l, ";") &&
           (absl::StrContains(l, absl::StrCat(" ", name, "[")) || absl::StrContains(l, absl::StrCat(" ", name, ";"))) &&
           !absl::StrContains(l, "=") && !absl::StrContains(l, "kc_");
  });
}

/// Whether the block that line `open` opens writes nothing but shared memory and variables of its own.
bool writesOnlyInside(const std::vector<std::string> &lines, size_t open) {
  for (size_t i = open + 1, end = blockEnd(lines, open); i < end; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]), name = assignedName(line);
    if (std::optional<size_t> lambda = findLambda(lines, i); lambda && !writesOnlyInside(lines, *lambda))
      return false;
    if (!name.empty() && !isShared(lines, open, name) && !isOwn(lines, open, i, name))
      return false;
    if (name.empty() && (absl::StrContains(line, "kc_tma_") || absl::StrContains(line, "kc_cp_") || absl::StrContains(line, "atomic") ||
                         absl::StrContains(line, "__st")))
      return false;
  }
  return true;
}

/// Whether what the block that line `open` opens writes of others is written under masks of its own.
bool writesUnderMasks(const std::vector<std::string> &lines, size_t open) {
  bool any = false;
  for (size_t i = open + 1, end = blockEnd(lines, open); i < end; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]), name = assignedName(line);
    if (absl::StartsWith(line, "if (") && absl::EndsWith(line, "{")) {
      size_t close = blockEnd(lines, i);
      const std::string otherwise = std::string(lines[i].find_first_not_of(' '), ' ') + "} else {";
      if (std::find(lines.begin() + std::ptrdiff_t(i), lines.begin() + std::ptrdiff_t(close), otherwise) !=
          lines.begin() + std::ptrdiff_t(close))
        return false;
      any = true;
      i = close;
    } else if (std::optional<size_t> lambda = findLambda(lines, i)) {
      if (!writesUnderMasks(lines, *lambda))
        return false;
      any = true;
    } else if (name.empty() ? absl::StrContains(line, "kc_") : !isOwn(lines, open, i, name)) {
      return false;
    }
  }
  return any;
}

/// Whether the block that line `open` opens, `if (v != 0) {`, only adds v to something.
bool addsNothing(const std::vector<std::string> &lines, size_t open) {
  absl::string_view head = absl::StripAsciiWhitespace(lines[open]);
  if (!absl::ConsumePrefix(&head, "if (") || !absl::ConsumeSuffix(&head, " != 0) {") || blockEnd(lines, open) == open + 1)
    return false;
  for (size_t i = open + 2, end = blockEnd(lines, open); i < end; i++)
    if (!lines[i].empty())
      return false;
  absl::string_view body = absl::StripAsciiWhitespace(lines[open + 1]);
  return absl::StartsWith(body, "atomicAdd(") && absl::EndsWith(body, absl::StrCat(", ", head, ");"));
}

/// The array of floats that a line declares and leaves as its registers are; empty for other lines.
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

/// Whether the block that line `open` opens is the last round of a loop over tiles: full of masks, and passed by where there is nothing
/// left.
bool isLastRound(const std::vector<std::string> &lines, size_t open) {
  return open + 1 < lines.size() && absl::StartsWith(absl::StripAsciiWhitespace(lines[open + 1]), "// The last round");
}

/// Whether the block that line `open` opens only brings data into shared memory, asynchronously or through
/// registers of its own, and does nothing else: done once too often it is not read, or a race, which is a finding.
bool holdsOnlyCopies(const std::vector<std::string> &lines, size_t open) {
  static const char *const kHarmlessStarts[] = {"#", "//", "const ", "for (", "if (", "kc_cp_async_", "}"};
  bool any = false;
  for (size_t i = open + 1, end = blockEnd(lines, open); i < end; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (absl::string_view name = assignedName(line); !name.empty()) {
      bool shared = isShared(lines, open, name);
      if (!shared && !isOwn(lines, open, i, name))
        return false;
      any |= shared;
      continue;
    }
    if (std::optional<size_t> lambda = findLambda(lines, i)) {
      if (!holdsOnlyCopies(lines, *lambda))
        return false;
      any = true;
      continue;
    }
    bool declares = absl::EndsWith(line, ";") && !absl::StrContains(line, "kc_") && absl::StrContains(line, " ") &&
                    (!absl::StrContains(line, "(") || absl::StartsWith(line, "alignas("));
    if (!line.empty() && !declares && std::none_of(std::begin(kHarmlessStarts), std::end(kHarmlessStarts), [&](const char *start) {
          return absl::StartsWith(line, start);
        }))
      return false;
    any |= absl::StartsWith(line, "kc_cp_async_") && absl::StrContains(line, "(&");
  }
  return any;
}

/// Whether `name` is a variable or an array of the thread, declared in lines [0, before) of its kernel.
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

/// Whether the block that line `open` opens does nothing but set registers of the thread; `set` gets the lines that set
/// those which are there before and behind it.
bool findRegisters(const std::vector<std::string> &lines, size_t open, std::vector<size_t> &set) {
  static const char *const kHarmlessStarts[] = {"#", "//", "for (", "if (", "}"};
  static const char *const kEffects[] = {"atomic",     "shfl", "kc_tma_", "kc_bar_", "kc_cp_", "kc_mbarrier",
                                         "kc_cluster", "__st", "asm",     "++;",     "--;"};
  for (size_t i = open + 1, end = blockEnd(lines, open); i < end; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (std::any_of(std::begin(kEffects), std::end(kEffects), [&](const char *e) { return absl::StrContains(line, e); }))
      return false;
    if (line.empty() || absl::StartsWith(line, "const ") ||
        std::any_of(std::begin(kHarmlessStarts), std::end(kHarmlessStarts),
                    [&](const char *start) { return absl::StartsWith(line, start); }))
      continue;
    absl::string_view name = assignedName(line);
    if (!name.empty() && isRegister(lines, open + 1, name))
      set.push_back(i);
    else if (!(name.empty() ? absl::EndsWith(line, ";") &&
                                  (!absl::StrContains(line, "(") || absl::StartsWith(line, "alignas(") || absl::StrContains(line, " = "))
                            : isOwn(lines, open, i, name) || isRegister(lines, i, name)))
      return false; // neither a declaration nor a variable of the block
  }
  return true;
}

/// Where a statement of `line` that sets a register ends, and what it sets.
std::pair<size_t, std::string> targetOf(const std::string &line) {
  size_t first = line.find_first_not_of(' '), assignment = findAssignment(line);
  return {statementEnd(line, assignment), line.substr(first, assignment - first)};
}

/// Whether `name` stands in `text` as a word.
bool mentions(absl::string_view text, const std::string &name) {
  auto isWord = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1))
    if (!(at > 0 && isWord(text[at - 1])) && !(at + name.size() < text.size() && isWord(text[at + name.size()])))
      return true;
  return false;
}

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

/// The line that opens the block that line `at` stands in.
size_t openerOf(const std::vector<std::string> &lines, size_t at) {
  const size_t depth = depthOf(lines[at]).value_or(0);
  while (at > 0 && !(absl::EndsWith(lines[at], "{") && depthOf(lines[at]).value_or(depth) < depth))
    at--;
  return at;
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

/// The lines of a text. Statements that the printer has broken are brought into one line, and those that they had beside it are empty.
std::vector<std::string> splitStatements(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  bool inKernel = false;
  for (size_t i = 0; i < lines.size(); i++) {
    inKernel = (inKernel || absl::StrContains(lines[i], "__global__")) && !absl::StartsWith(lines[i], "}");
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (!inKernel || line.empty() || line[0] == '#' || absl::StartsWith(line, "//"))
      continue;
    std::string &whole = lines[i];
    while (i + 1 < lines.size() && whole.find_last_of(";{}") != whole.size() - 1)
      absl::StrAppend(&whole, absl::EndsWith(whole, "(") ? "" : " ", absl::StripAsciiWhitespace(std::exchange(lines[++i], "")));
  }
  return lines;
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

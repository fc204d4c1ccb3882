// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/TextBlocks.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "emulator/TextLines.h"

namespace kernelc::emulator {

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

bool isLastRound(const std::vector<std::string> &lines, size_t open) {
  return open + 1 < lines.size() && absl::StartsWith(absl::StripAsciiWhitespace(lines[open + 1]), "// The last round");
}

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

} // namespace kernelc::emulator

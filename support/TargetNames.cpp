// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/TargetNames.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "support/Spelling.h"
#include "support/Target.h"

namespace kernelc {
namespace {

/// The digits of "sm_90a", "9.0", "compute_90".
std::string digitsOf(absl::string_view name) {
  std::string digits;
  std::copy_if(name.begin(), name.end(), std::back_inserter(digits), [](char c) { return absl::ascii_isdigit(c); });
  return digits;
}

std::vector<absl::string_view> namesOfTargets() {
  std::vector<absl::string_view> names;
  for (const Target &t : allTargets())
    names.push_back(t.name);
  return names;
}

/// GPUs by the names that people call them by.
constexpr std::pair<absl::string_view, absl::string_view> kCards[] = {
#include "support/targets/cards.inc"
};

absl::string_view targetOfCard(absl::string_view name) {
  std::string word = absl::AsciiStrToLower(name);
  word.erase(std::remove_if(word.begin(), word.end(), [](char c) { return !absl::ascii_isalnum(c); }), word.end());
  for (auto [card, target] : kCards)
    if (word == card)
      return target;
  return "";
}

} // namespace

std::string suggestTarget(absl::string_view name) {
  if (absl::string_view target = targetOfCard(name); !target.empty())
    return absl::StrCat("; did you mean '", target, "', which is that GPU's?");
  std::string digits = digitsOf(name);
  for (absl::string_view known : namesOfTargets())
    if (!digits.empty() && digitsOf(known) == digits) {
      bool isPlain = absl::StrCat(name, "a") == known; // its code runs on that GPU alone
      return absl::StrCat("; did you mean '", known, isPlain ? "', which has that GPU's own instructions?" : "'?");
    }
  std::string near = digits.empty() ? findNearest(name, namesOfTargets()) : "";
  return near.empty() ? "" : absl::StrCat("; did you mean '", near, "'?");
}

/// Of an architecture that is older than all that are known.
static std::string describeAge(absl::string_view name) {
  int number = 0, oldest = 0;
  std::string least(allTargets().front().name);
  for (const Target &t : allTargets())
    if (int known = 0; absl::SimpleAtoi(digitsOf(t.name), &known) && (!oldest || known < oldest)) {
      oldest = known;
      least = std::string(t.name);
    }
  bool isOlder = absl::StartsWith(name, "sm_") && absl::SimpleAtoi(digitsOf(name), &number) && number >= 10 && number < oldest;
  return isOlder ? absl::StrCat(", which is older than ", least, ", the oldest that kernelc compiles for") : "";
}

std::string describeUnknownTarget(absl::string_view name) {
  if (absl::StrContains(name, ','))
    return absl::StrCat("one architecture at a time, not '", name, "'; known are ", absl::StrJoin(namesOfTargets(), ", "));
  if (std::string age = describeAge(name); !age.empty())
    return absl::StrCat("unknown architecture '", name, "'", age, "; known are ", absl::StrJoin(namesOfTargets(), ", "));
  std::string suggested = suggestTarget(name);
  return absl::StrCat("unknown architecture '", name, "'", suggested, suggested.empty() ? "; known are " : " Known are ",
                      absl::StrJoin(namesOfTargets(), ", "));
}

} // namespace kernelc

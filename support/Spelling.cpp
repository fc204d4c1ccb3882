// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Spelling.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace kernelc {

// The restricted Damerau-Levenshtein distance: no letter moves twice.
unsigned spellingDistance(absl::string_view a, absl::string_view b) {
  std::vector<unsigned> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = unsigned(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::move(last);
    last = std::move(row);
    row.assign(b.size() + 1, unsigned(i));
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string findNearest(absl::string_view word, const std::vector<absl::string_view> &words) {
  constexpr size_t kLongest = 80; // nobody reads more
  unsigned best = unsigned(std::max<size_t>(1, word.size() / 3)) + 1;
  best = std::min<unsigned>(best, word.size());
  absl::string_view found;
  if (word.size() > kLongest)
    return "";
  for (absl::string_view w : words) {
    if (w == word || w.size() > kLongest)
      continue;
    unsigned d = absl::EqualsIgnoreCase(w, word) ? 0 : spellingDistance(word, w);
    if (d < best || (d == best && !found.empty() && w < found)) {
      best = d;
      found = w;
    }
  }
  return std::string(found);
}

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which word was meant: the one place for "did you mean".
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kernelc {

/// Letters to insert, delete, replace or exchange with their neighbour to make `b` of `a`.
unsigned spellingDistance(absl::string_view a, absl::string_view b);

/// The word of `words` nearest to `word`, of equally near ones the first in alphabetical order; "" where none is near. Near is a
/// third of the letters, or one, but not all of them; words that differ in case alone are the nearest.
std::string findNearest(absl::string_view word, const std::vector<absl::string_view> &words);

} // namespace kernelc

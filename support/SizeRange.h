// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a size expression can be where its sizes are only known within bounds.
#pragma once

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "support/SizeExpr.h"

namespace kernelc {

/// From `low` to `high`, both included.
struct SizeRange {
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();

  bool isConstant() const { return low == high; }
  friend bool operator==(const SizeRange &, const SizeRange &) = default;
};

/// A range that holds every value of `e`, given a range for each size; anything may be a stride. An empty expression is 0.
SizeRange rangeOf(const SizeExpr &e, absl::Span<const SizeRange> sizes);

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Into how many parts the long sum of a product with few results is cut: the cost model.
#pragma once

#include <cstdint>

#include "support/Target.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::te {

/// A product whose operands tensor copies bring to warpgroups, a line of 128 bytes of each row and column at a time.
struct FedProduct {
  int64_t batch, m, n;                   ///< of the results
  llvm::SmallVector<int64_t, 4> lengths; ///< points of the summed indices
  int64_t bytes;                         ///< of an operand's element
  bool acrossRows = false;               ///< the rows' operand runs along rows in memory, not along the sum,
  bool acrossColumns = false;            ///< the columns' along columns: a slot's rows are as wide as a tile has whole panels
};

/// A part: a point of the first `whole` summed indices and `chunk` points of the next one (0: all), as te-split-reduce makes them.
struct PartOfSum {
  unsigned whole = 0;
  int64_t chunk = 0;
  double time = 0; ///< microseconds that the product takes in such parts
};

/// How parts' sums become one: merged from a workspace by a second launch, or added into memory as they are there, which a launch before
/// has zeroed. What reads the sum can stand in the second launch, and needs one of its own behind those that are added.
enum class PartSums { Merged, Added, AddedAndRead };

/// Microseconds that such a product takes on `target` in `parts` parts with at most `points` points each, in the best of the target's
/// tiles (ProductTime.h): where there are several, with their sums and a second launch (fitted to an H200's times, docs/lab).
double timeOfParts(const FedProduct &p, int64_t parts, int64_t points, PartSums how, const Target &target);

/// Microseconds beside the parts themselves: of `results` in `parts` parts (1: none). Infinite where the target's rates are not known.
double timeOfSums(double results, int64_t parts, PartSums how, const PartRates &rates);

/// The parts for which that is least. `canCut(index, chunk)`: whether chunks of so many points of that summed index are allowed.
PartOfSum bestParts(const FedProduct &p, PartSums how, const Target &target, llvm::function_ref<bool(unsigned, int64_t)> canCut);

} // namespace kernelc::te

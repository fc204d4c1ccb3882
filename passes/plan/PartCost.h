// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Into how many parts the long sum of a product with few results is cut: the cost model.
#pragma once

#include <cstdint>

#include "support/Target.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kernelc::te {

/// A product whose operands tensor copies bring to warpgroups, a line of 128 bytes of each row and column at a time.
struct FedProduct {
  int64_t batch, m, n; ///< of the results
  int64_t k;           ///< points of the sum's first index, which is cut
  int64_t inner;       ///< and of its others together
  int64_t bytes;       ///< of an operand's element
};

/// Microseconds that such a product takes on `target`, beside what all schedules of it have in common, in `parts` parts of at
/// most `chunk` points of the first index each, in the best of the target's tiles: the larger of what a block's slots and what the
/// operands in memory take, and where there are several parts their sums and a second launch (fitted to an H200's times,
/// docs/lab). Infinite without rates of the target.
double timeOfParts(const FedProduct &p, int64_t parts, int64_t chunk, const Target &target);

/// The points of a part for which that is least, k for one part. `canCut`: whether parts of so many are allowed.
int64_t bestChunk(const FedProduct &p, const Target &target, llvm::function_ref<bool(int64_t)> canCut);

} // namespace kernelc::te

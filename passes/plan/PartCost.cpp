// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/PartCost.h"

#include <algorithm>
#include <limits>

#include "passes/plan/ProductTime.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kernelc::te {

/// Points of the summed indices from `first` on.
static Count pointsFrom(const FedProduct &p, size_t first) {
  Count points = 1;
  for (size_t d = first; d < p.lengths.size(); ++d)
    points *= p.lengths[d];
  return points;
}

double timeOfParts(const FedProduct &p, int64_t parts, int64_t points, const Target &target) {
  constexpr int64_t kLine = 128;
  const PartRates &rates = target.partRates;
  const double operands = double(p.batch) * double(p.m + p.n) * double(pointsFrom(p, 0)) * double(p.bytes);
  const int64_t slots = int64_t(ceilDiv(Count(points) * p.bytes, kLine));
  constexpr int64_t kLeastRows = 64;
  double best = std::numeric_limits<double>::infinity();
  // Columns may take the unit's rows: the longer side does where the other one is too short for them, of whole sums whichever is faster.
  for (bool turned : {false, true}) {
    int64_t m = turned ? p.n : p.m, n = turned ? p.m : p.n;
    if (turned ? p.m >= kLeastRows && (parts > 1 || m < kLeastRows) : m < kLeastRows && n > m)
      continue;
    TiledProduct tiled{p.batch * parts, m, n, slots, operands};
    auto consider = [&](ProductTile tile) {
      tile.n = int(std::min<int64_t>(tile.n, int64_t(llvm::alignTo(n, 8)))); // columns beyond the extent are none of the unit's
      best = std::min(best, timeOfTiles(tiled, tile, target));
    };
    constexpr int kTwoWarpgroups = 128; // rows; sums of parts, which are words, leave no room for more (te-plan)
    for (const ProductTile &tile : wgmmaTiles())
      if (tile.m <= kTwoWarpgroups)
        consider(tile);
    if (parts == 1)
      llvm::for_each(wgmmaPlainTiles(), consider);
  }
  return parts == 1 ? best : best + double(p.batch) * parts * double(p.m) * double(p.n) * sizeof(float) / rates.sums + rates.launch;
}

PartOfSum bestParts(const FedProduct &p, const Target &target, llvm::function_ref<bool(unsigned, int64_t)> canCut) {
  const SharingCosts &costs = target.costs->sharing;
  PartOfSum best;
  double least = timeOfParts(p, 1, int64_t(pointsFrom(p, 0)), target) / costs.leastGain;
  Count outer = 1;
  for (unsigned whole = 0; whole < p.lengths.size() && outer <= costs.mostFedParts; outer *= p.lengths[whole++]) {
    const int64_t length = p.lengths[whole], inner = int64_t(pointsFrom(p, whole + 1));
    const int64_t kWhole = inner > 1 ? 1 : 128; // whole tiles of any unit, and whole lines
    for (int64_t cuts = 1; int64_t(outer) * cuts <= costs.mostFedParts && cuts <= length; ++cuts) {
      int64_t chunk = std::min<int64_t>(length, llvm::alignTo(llvm::divideCeil(length, cuts), kWhole));
      int64_t parts = int64_t(outer) * int64_t(llvm::divideCeil(length, chunk)), points = int64_t(Count(chunk) * inner);
      if (parts == 1)
        continue;
      if (points < costs.leastProductPart)
        break;
      double time = timeOfParts(p, parts, points, target) * (length % chunk ? costs.unequal : 1);
      if (time < least && (chunk == length || canCut(whole, chunk))) {
        least = time;
        best = {whole, chunk == length ? 0 : chunk};
      }
    }
  }
  return best;
}

} // namespace kernelc::te

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

double timeOfSums(double results, int64_t parts, PartSums how, const PartRates &rates) {
  if (parts == 1)
    return 0;
  const double bytes = results * sizeof(float);
  if (how == PartSums::Merged)
    return double(parts) * bytes / rates.sums + rates.launch;
  if (rates.adds <= 0)
    return std::numeric_limits<double>::infinity();
  double once = bytes / rates.memory + rates.launch; // to zero them, and to read them
  return double(parts) * bytes / rates.adds + (how == PartSums::AddedAndRead ? 2 : 1) * once;
}

double timeOfParts(const FedProduct &p, int64_t parts, int64_t points, PartSums how, const Target &target) {
  const double operands = double(p.batch) * double(p.m + p.n) * double(pointsFrom(p, 0)) * double(p.bytes);
  const int64_t slots = int64_t(ceilDiv(Count(points) * p.bytes, kSlotRow));
  constexpr int64_t kLeastRows = 64, kMostColumns = 256;
  double best = std::numeric_limits<double>::infinity();
  // Columns may take the unit's rows: the longer side does where the other one is too short for them; else whichever is faster, of whole
  // sums and where a tile has all rows as columns.
  for (bool turned : {false, true}) {
    int64_t m = turned ? p.n : p.m, n = turned ? p.m : p.n;
    if (turned ? p.m >= kLeastRows && ((parts > 1 && n > kMostColumns) || m < kLeastRows) : m < kLeastRows && n > m)
      continue;
    TiledProduct tiled{p.batch * parts, m, n, slots, operands};
    const bool across = turned ? p.acrossRows : p.acrossColumns;
    tiled.rowPanel = (turned ? p.acrossColumns : p.acrossRows) ? kSlotRow / p.bytes : 1;
    auto consider = [&](ProductTile tile) {
      tile.n = int(std::min<int64_t>(tile.n, int64_t(llvm::alignTo(n, 8)))); // columns beyond the extent are none of the unit's
      const bool isBetween = !llvm::isPowerOf2_64(uint64_t(tile.n)) && tile.n % 64;
      tiled.slotRow = across && isBetween ? (tile.n & -tile.n) * p.bytes : kSlotRow;
      tiled.columnPanel = across ? tiled.slotRow / p.bytes : 1;
      best = std::min(best, timeOfTiles(tiled, tile, target));
    };
    constexpr int kTwoWarpgroups = 128; // rows; sums of parts, which are words, leave no room for more (te-plan)
    for (const ProductTile &tile : wgmmaTiles())
      if (tile.m <= kTwoWarpgroups)
        consider(tile);
    for (const ProductTile &tile : wgmmaPlainTiles())
      if (parts == 1 || (turned && tile.m <= kTwoWarpgroups && tile.teams == 1))
        consider(tile);
  }
  // Behind a launch of few slots the second one costs twice what a launch does elsewhere (docs/lab/2026-11-27-planner-9.md).
  double sums = timeOfSums(double(p.batch) * double(p.m) * double(p.n), parts, how, target.partRates);
  return best + sums + (parts > 1 ? target.partRates.launch : 0);
}

PartOfSum bestParts(const FedProduct &p, PartSums how, const Target &target, llvm::function_ref<bool(unsigned, int64_t)> canCut) {
  const SharingCosts &costs = target.costs->sharing;
  double whole = timeOfParts(p, 1, int64_t(pointsFrom(p, 0)), how, target), least = whole / costs.leastGain;
  PartOfSum best{0, 0, whole};
  Count outer = 1;
  for (unsigned outerIndices = 0; outerIndices < p.lengths.size() && outer <= costs.mostFedParts; outer *= p.lengths[outerIndices++]) {
    const int64_t length = p.lengths[outerIndices], inner = int64_t(pointsFrom(p, outerIndices + 1));
    const int64_t kWhole = inner > 1 ? 1 : 128; // whole tiles of any unit, and whole lines
    for (int64_t cuts = 1; int64_t(outer) * cuts <= costs.mostFedParts && cuts <= length; ++cuts) {
      int64_t chunk = std::min<int64_t>(length, llvm::alignTo(llvm::divideCeil(length, cuts), kWhole));
      int64_t parts = int64_t(outer) * int64_t(llvm::divideCeil(length, chunk)), points = int64_t(Count(chunk) * inner);
      if (parts == 1)
        continue;
      if (points < costs.leastProductPart)
        break;
      double time = timeOfParts(p, parts, points, how, target) * (length % chunk ? costs.unequal : 1);
      if (time < least && (chunk == length || canCut(outerIndices, chunk))) {
        least = time;
        best = {outerIndices, chunk == length ? 0 : chunk, time};
      }
    }
  }
  return best;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/PartCost.h"

#include <algorithm>
#include <limits>

#include "support/Saturating.h"
#include "support/TargetCosts.h"
#include "llvm/Support/MathExtras.h"

namespace kernelc::te {

double timeOfParts(const FedProduct &p, int64_t parts, int64_t chunk, const Target &target) {
  constexpr int64_t kLine = 128;
  const PartRates &rates = target.partRates;
  if (!rates.slots)
    return std::numeric_limits<double>::infinity();
  // The longer side has the unit's rows if the other one is too short for them (te-plan).
  int64_t rows = p.m < 64 ? std::max(p.m, p.n) : p.m, columns = p.m < 64 ? std::min(p.m, p.n) : p.n;
  double lines = double(ceilDiv(Count(chunk) * p.inner * p.bytes, kLine));
  double longest = std::numeric_limits<double>::infinity();
  for (const ProductTile &tile : wgmmaTiles()) {
    if (tile.m > 128 || tile.n > 128 || tile.n % 64) // (larger ones multiply for longer than their slots take)
      continue;
    Count blocks = Count(p.batch) * parts * ceilDiv(Count(rows), tile.m) * ceilDiv(Count(columns), tile.n);
    int64_t bytes = (tile.m + int64_t(llvm::alignTo(std::min<int64_t>(tile.n, columns), 8))) * kLine;
    longest = std::min(longest, double(ceilDiv(blocks, target.smCount)) * lines * (bytes / rates.slots + rates.slot));
  }
  double operands = double(p.batch) * double(p.m + p.n) * double(p.k) * double(p.inner) * p.bytes;
  double time = std::max(longest, operands / rates.memory);
  return parts == 1 ? time : time + double(p.batch) * parts * double(p.m) * double(p.n) * sizeof(float) / rates.sums + rates.launch;
}

int64_t bestChunk(const FedProduct &p, const Target &target, llvm::function_ref<bool(int64_t)> canCut) {
  const SharingCosts &costs = target.costs->sharing;
  const int64_t kWhole = p.inner > 1 ? 1 : 128; // whole tiles of any unit, and whole lines
  int64_t best = p.k;
  double least = timeOfParts(p, 1, p.k, target);
  for (int64_t parts = 2; parts <= costs.mostFedParts; ++parts) {
    int64_t chunk = llvm::alignTo(llvm::divideCeil(p.k, parts), kWhole);
    if (Count(chunk) * p.inner < costs.leastProductPart)
      break;
    int64_t needed = llvm::divideCeil(p.k, chunk);
    double time = timeOfParts(p, needed, chunk, target) * (p.k % chunk ? costs.unequal : 1);
    if (needed > 1 && time < least && canCut(chunk)) {
      least = time;
      best = chunk;
    }
  }
  return best;
}

} // namespace kernelc::te

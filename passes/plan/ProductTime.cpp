// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ProductTime.h"

#include <algorithm>

#include "support/Saturating.h"
#include "support/TargetRates.h"

namespace kernelc::te {

double timeOfTiles(const TiledProduct &p, const ProductTile &tile, const Target &target) {
  const WarpgroupCosts &costs = target.costs->warpgroups;
  const TargetRates &rates = *findTargetRates(target.name);
  double unit = double(rates.matrix16) * rates.clock * costs.bestRate, results = double(tile.m) * tile.n;
  // Of 16 bits; the unit takes as many bytes of other types.
  double multiplied = results * double(kSlotRow) / 2 * 100 / tile.percent / unit * p.oneByOne;
  // Rows of slots along the unit's rows, and of its columns: as many for each where they run across columns in short pieces.
  const double perColumn = double(kSlotRow) / double(p.slotRow) / double(p.cluster);
  // Rows beyond a tensor's end are not brought (tile-cut-tails): a tile that ends in none of its rows is as long as the others.
  double brought = (double(std::min<int64_t>(tile.m, p.m)) + double(std::min<int64_t>(tile.n, p.n)) * perColumn) / costs.slotRows;
  Count tiles = Count(p.batch) * ceilDiv(ceilDiv(Count(p.m), tile.m), p.cluster) * p.cluster * ceilDiv(Count(p.n), tile.n);
  bool isBehind = tile.teams > 1 && tiles > target.smCount; // (a block's only tile has nobody to multiply while it leaves)
  double one = double(p.slots) * (std::max({multiplied, brought, costs.leastSlot}) + p.leaving) +
               results * (isBehind ? costs.resultBehind : costs.result);
  // Rounds of the whole device, and the last one, of which memory brings less.
  double all = double(tiles), whole = double(tiles / target.smCount), last = all - whole * target.smCount;
  double memory = target.partRates.memory > 0 ? p.operands / target.partRates.memory / all : 0; // of a tile's share
  auto round = [&](double block, double brought) { return std::max(block, brought) + costs.besideMemory * std::min(block, brought); };
  const double ofWhole = memory * target.smCount;
  double rounds = whole * round(one, ofWhole) + (last > 0 ? round(one, memory * last) : 0);
  return rounds + (tile.teams > 1 ? costs.startOfTeams : 0) + (p.cluster > 1 ? costs.startOfCluster : 0);
}

ProductTile chooseCoresTile(int64_t m, int64_t n, int64_t batch, const Target &target) {
  const ProductTile large{128, 128, 100}, small{64, 64, target.costs->cores.smallTilePercent};
  bool isShort = m > 0 && n > 0 && timeOf(small, m, n, batch, target) < timeOf(large, m, n, batch, target);
  return isShort ? small : large;
}

double timeOfWordRows(int64_t row, int64_t filledFor, const CoresCosts &costs) {
  return 1 + costs.wordRow32 * std::max(1.0, 64.0 / double(filledFor)) * 32 / double(row);
}

int64_t shortestWordRow(int64_t filledFor, const CoresCosts &costs) { return std::max(costs.wordRow, costs.wordReuse / filledFor); }

} // namespace kernelc::te

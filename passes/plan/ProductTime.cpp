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
  auto timeOfOne = [&](double filled) { // microseconds of a slot beside what bring rows that are there
    double brought = (tile.m + tile.n * perColumn) / costs.slotRows + filled;
    return double(p.slots) * (std::max({multiplied, brought, costs.leastSlot}) + p.leaving) +
           results * (tile.teams > 1 ? costs.resultBehind : costs.result);
  };
  // Rows beyond a tensor's end take the copies longer than others: the last tiles' blocks are the last to end.
  auto beyond = [](int64_t extent, int64_t tile, int64_t panel) {
    int64_t left = int64_t(ceilDiv(Count(extent), tile)) * tile - extent;
    return double(left / panel * panel);
  };
  double one = timeOfOne(0), longest = timeOfOne((beyond(p.m, tile.m, p.rowPanel) + beyond(p.n, tile.n, p.columnPanel) * perColumn) *
                                                 (1 / costs.beyondRows - 1 / costs.slotRows));
  // Rounds of the whole device, and the last one, of which memory brings less.
  Count tiles = Count(p.batch) * ceilDiv(ceilDiv(Count(p.m), tile.m), p.cluster) * p.cluster * ceilDiv(Count(p.n), tile.n);
  double all = double(tiles), whole = double(tiles / target.smCount), last = all - whole * target.smCount;
  double memory = target.partRates.memory > 0 ? p.operands / target.partRates.memory / all : 0; // of a tile's share
  auto round = [&](double block, double brought) { return std::max(block, brought) + costs.besideMemory * std::min(block, brought); };
  const double ofWhole = memory * target.smCount;
  double rounds = whole * round(one, ofWhole) + (last > 0 ? round(longest, memory * last) : round(longest, ofWhole) - round(one, ofWhole));
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

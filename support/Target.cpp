// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Target.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "support/Saturating.h"
#include "support/TargetCosts.h"

namespace kernelc {

const TargetCosts kMeasuredCosts;

namespace {
constexpr Target kTargets[] = {
// The oldest first.
// clang-format off
#include "support/targets/sm_75.inc"
#include "support/targets/sm_80.inc"
#include "support/targets/sm_86.inc"
#include "support/targets/sm_89.inc"
#include "support/targets/sm_90a.inc"
#include "support/targets/sm_100a.inc"
#include "support/targets/sm_120a.inc"
    // clang-format on
};
constexpr ProductTile kWgmmaTiles[] = {
#include "support/targets/wgmma_tiles.inc"
};
constexpr ProductTile kWgmmaPlainTiles[] = {
#include "support/targets/wgmma_plain_tiles.inc"
};
} // namespace

absl::Span<const ProductTile> wgmmaTiles() { return kWgmmaTiles; }

namespace {

/// A tile of one team: as fast as measured ones with as many rows are for their columns, in a line from one to the next.
ProductTile tileBetween(int m, int n) {
  const ProductTile *below = nullptr, *above = nullptr;
  for (absl::Span<const ProductTile> tiles : {absl::Span<const ProductTile>(kWgmmaPlainTiles), absl::Span<const ProductTile>(kWgmmaTiles)})
    for (const ProductTile &t : tiles) {
      if (t.m != m || t.teams != 1)
        continue;
      if (t.n <= n && (!below || t.n > below->n))
        below = &t;
      if (t.n >= n && (!above || t.n < above->n))
        above = &t;
    }
  constexpr int kRows = 64; // that an instruction reads beside its columns
  if (!below)
    return {m, n, std::max(1, above->percent * n * (above->n + kRows) / (above->n * (n + kRows)))};
  if (!above)
    return {m, n, below->percent};
  double place = above == below ? 0 : double(n - below->n) / (above->n - below->n);
  return {m, n, int(below->percent + place * (above->percent - below->percent))};
}

std::vector<ProductTile> makePlainTiles() {
  std::vector<ProductTile> tiles(std::begin(kWgmmaPlainTiles), std::end(kWgmmaPlainTiles));
  constexpr int kStep = 8, kLeast = 24, kMost = 256; // columns of an instruction
  for (int m : {64, 128, kThreeWarpgroupRows, 256})
    for (int n = kLeast; n <= kMost; n += kStep)
      tiles.push_back(tileBetween(m, n));
  return tiles;
}

} // namespace

absl::Span<const ProductTile> wgmmaPlainTiles() {
  static const std::vector<ProductTile> tiles = makePlainTiles();
  return tiles;
}

double timeOf(const ProductTile &tile, int64_t m, int64_t n, int64_t batch, const Target &target) {
  if (m < 0 || n < 0)
    return -tile.percent;
  Count rounds = ceilDiv(Count(batch) * ceilDiv(Count(m), tile.m) * ceilDiv(Count(n), tile.n), target.smCount);
  return double(rounds) * tile.m * tile.n / tile.percent;
}

bool holdsAccumulators(const ProductTile &tile, int64_t sets, const Target &target) {
  constexpr int64_t kWarpgroup = 128;
  if (tile.m == kThreeWarpgroupRows) {
    RegisterShares shares = shareRegisters(target, kWarpgroup, 3 * kWarpgroup, 1);
    return tile.n / 2 + kBesideAccumulators <= shares.even && // one instruction
           sets * tile.m * tile.n <= (shares.consumer - kBesideAccumulators) * 3 * kWarpgroup;
  }
  return sets * tile.m * tile.n <= target.accumulatorRegisters * (tile.m >= 128 && tile.teams == 1 ? 2 : 1) * kWarpgroup;
}

RegisterShares shareRegisters(const Target &target, int64_t producers, int64_t consumers, int64_t blocks, int64_t perProducer) {
  int64_t threads = producers + consumers, even = target.registersPerSm / blocks / threads / 8 * 8;
  perProducer = perProducer ? perProducer : target.costs->warpgroups.fillRegisters;
  int64_t left = even * threads - producers * perProducer;
  return {perProducer, std::clamp<int64_t>(left / consumers / 8 * 8, 24, 240), even};
}

const Target *findTarget(absl::string_view name) {
  for (const Target &t : kTargets)
    if (name == t.name)
      return &t;
  return nullptr;
}

absl::Span<const Target> allTargets() { return kTargets; }

} // namespace kernelc

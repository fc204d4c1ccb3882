// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Target.h"

#include <algorithm>

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
absl::Span<const ProductTile> wgmmaPlainTiles() { return kWgmmaPlainTiles; }

double timeOf(const ProductTile &tile, int64_t m, int64_t n, int64_t batch, const Target &target) {
  if (m < 0 || n < 0)
    return -tile.percent;
  Count rounds = ceilDiv(Count(batch) * ceilDiv(Count(m), tile.m) * ceilDiv(Count(n), tile.n), target.smCount);
  return double(rounds) * tile.m * tile.n / tile.percent;
}

bool holdsAccumulators(const ProductTile &tile, int64_t sets, const Target &target) {
  constexpr int64_t kWarpgroup = 128;
  if (tile.m == 192)
    return sets * tile.m * tile.n <=
           (shareRegisters(target, kWarpgroup, 3 * kWarpgroup, 1).consumer - kBesideAccumulators) * 3 * kWarpgroup;
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and slots of launches with two chained products.
#include "passes/plan/Chain.h"
#include "passes/plan/Scheduler.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {
/// Of the 16-bit operands: a line of 128 bytes.
constexpr int64_t kBytes = 2, kLine = 64;

/// Columns of s for a round of a cascade, the best first: a round costs what so many columns do beside its own, and the last one may
/// have few. `walked` < 0: any number. Where rows end at different columns, small rounds lose least.
SmallVector<int64_t> roundsOf(int64_t walked, int64_t columns, bool isUneven, const ChainCosts &costs) {
  SmallVector<int64_t> rounds{128, 64};
  if (walked < 0 || columns > costs.fewColumns || isUneven)
    return rounds;
  auto cost = [&](int64_t j) { return llvm::divideCeil(walked, j) * (j + costs.round); };
  rounds.insert(rounds.begin(), {192, 160});
  llvm::stable_sort(rounds, [&](int64_t a, int64_t b) { return cost(a) < cost(b); });
  return rounds;
}
} // namespace

bool Scheduler::scheduleChain(LaunchPlan &l) {
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (auto reader = dyn_cast<ReduceOp>(ops_[ordinal]))
      if (std::optional<ProductChain> chain = findChain(reader, target_, facts_)) {
        auto producer = llvm::find_if(l.ops, [&](int64_t o) { return ops_[o] == chain->producer; });
        return scheduleChain(l, {*chain}, l.dims[producer - l.ops.begin()], l.dims[n]);
      }
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (std::optional<ProductWalk> walk = findJoinedWalk(ops_[ordinal], target_, facts_)) {
      auto producer = llvm::find_if(l.ops, [&](int64_t o) { return ops_[o] == walk->producer; });
      ArrayRef<int64_t> first = l.dims[producer - l.ops.begin()];
      return walk->products.empty() ? scheduleWalk(l, *walk, first) : scheduleChain(l, walk->products, first, l.dims[n]);
    }
  return false;
}

bool Scheduler::isUneven(const LaunchPlan &l) {
  return llvm::any_of(l.ops, [&](int64_t ordinal) { return getCondition(ops_[ordinal]).has_value(); });
}

bool Scheduler::growsAlong(const LaunchPlan &l, int64_t rows, int64_t walked) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    std::optional<IntegerSet> set = getCondition(ops_[ordinal]);
    auto row = llvm::find(dims, rows), column = llvm::find(dims, walked);
    if (!set || row == dims.end() || column == dims.end())
      continue;
    for (AffineExpr e : set->getConstraints()) {
      std::optional<int64_t> r = linearCoefficient(e, row - dims.begin()), c = linearCoefficient(e, column - dims.begin());
      if (r && c && *r > 0 && *c < 0)
        return true;
    }
  }
  return false;
}

std::vector<LaunchPlan> Scheduler::chainsOfRows(const LaunchPlan &l, ArrayRef<unsigned> rows, ArrayRef<unsigned> batch,
                                                ArrayRef<int64_t> dims) {
  int64_t points = extentProduct(l, rows, dims, likely_), products = std::max<int64_t>(1, extentProduct(l, batch, dims, likely_));
  // Tiles of 64 rows where those of 128 would leave half of the device without work.
  bool isFew = points >= 0 && products * ceilDiv(Count(points), 128) * 2 <= target_.smCount;
  std::vector<LaunchPlan> plans;
  for (int64_t m : isFew ? SmallVector<int64_t>{64} : SmallVector<int64_t>{128, 64}) {
    LaunchPlan &p = plans.emplace_back(l);
    p.unit = "wgmma";
    p.warps = m == 128 ? 8 : 4;
    p.producerWarps = 4;
    p.persistent = !isUneven(l);
    p.raster = 8;
    assign(p, rows, dims, m);
  }
  return plans;
}

bool Scheduler::assignSummed(LaunchPlan &p, int64_t index) {
  int64_t most = extentMax(p, index);
  bool resides = most >= 0 && most <= costs_.chains.mostSummed;
  p.tiles[index] = resides ? std::max<int64_t>(kLine, llvm::PowerOf2Ceil(uint64_t(most))) : kLine;
  return resides;
}

bool Scheduler::scheduleWalk(LaunchPlan &l, const ProductWalk &walk, ArrayRef<int64_t> dims) {
  const Contraction &c = walk.first;
  ArrayRef<unsigned> rows = llvm::is_contained(c.m, walk.walkedOfS) ? c.n : c.m;
  int64_t walked = dims[walk.walkedOfS], summed = dims[c.k.front()];
  for (LaunchPlan &p : chainsOfRows(l, rows, c.batch, dims))
    for (int64_t j : {256, 128, 64}) {
      p.tiles[walked] = clampTile(p, walked, j);
      bool resides = assignSummed(p, summed);
      int64_t height = tileProduct(p, rows, dims), width = p.tiles[walked], k = p.tiles[summed];
      int64_t once = resides ? height * k * kBytes : 0, each = (width * k + (resides ? 0 : height * k)) * kBytes;
      p.stages = std::min<int64_t>((target_.maxSharedPerBlock - kBesideSlots - once) / each, costs_.chains.mostWalkStages);
      // What is worked on beside the accumulators: an exponential's arguments.
      int64_t registers = height * width / (p.warps * 32) + height * width / (p.warps * 32) / 4;
      std::string why;
      if (height % 64 || width < 16 || p.stages < 2 || registers + kBesideAccumulators > registerShares(p).consumer ||
          !canFeedWgmma(p, c.a, c.m, c.k, dims, why) || !canFeedWgmma(p, c.b, c.n, c.k, dims, why))
        continue;
      p.clusterIndex = dims[rows.back()];
      p.descending = growsAlong(p, p.clusterIndex, walked);
      l = p;
      return true;
    }
  return false;
}

bool Scheduler::scheduleChain(LaunchPlan &l, ArrayRef<ProductChain> chains, ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  const ProductChain &chain = chains.front();
  int64_t walked = second[chain.walked];
  bool isCascade = llvm::any_of(l.ops, [&](int64_t o) { return isa<CascadeOp>(ops_[o]); });
  for (LaunchPlan &p : chainsOfRows(l, chain.rows(), chain.second.batch, second)) {
    int64_t all = 0;
    for (const ProductChain &c : chains) {
      int64_t columns = second[c.columns().front()];
      all += p.tiles[columns] = llvm::alignTo(extentMax(p, columns), 8);
    }
    for (int64_t j : isCascade ? roundsOf(extentMax(p, walked), all, isUneven(p), costs_.chains) : SmallVector<int64_t>{128, 64}) {
      p.tiles[walked] = llvm::isPowerOf2_64(uint64_t(j)) ? clampTile(p, walked, j) : j;
      bool resides = assignSummed(p, first[chain.first.k.front()]);
      LaunchPlan fitted = p; // (its parts and stages are for these tiles)
      // Where a cascade works on the first product, the second one's unit has the time of it. (what is carried is counted below)
      fitted.inFlight = isCascade ? 2 : 1;
      fitted.producerRegisters = isCascade ? costs_.chains.plainFill : 0;
      if (!fitsChain(fitted, chains, first, second, resides))
        continue;
      auto hasSeveral = [&](unsigned d) { return extentMax(p, second[d]) < 0 || extentMax(p, second[d]) > p.tiles[second[d]]; };
      auto last = llvm::find_if(llvm::reverse(chain.rows()), hasSeveral);
      fitted.clusterIndex = second[last != chain.rows().rend() ? *last : chain.rows().front()];
      fitted.descending = growsAlong(fitted, fitted.clusterIndex, walked);
      l = fitted;
      return true;
    }
  }
  return false;
}

void Scheduler::fitPart(LaunchPlan &p, int64_t columns) {
  while (columns % std::min(columns, p.part) || p.part > columns)
    p.part /= 2;
}

bool Scheduler::fitsChain(LaunchPlan &p, ArrayRef<ProductChain> chains, ArrayRef<int64_t> first, ArrayRef<int64_t> second, bool resides) {
  const ProductChain &chain = chains.front();
  int64_t m = tileProduct(p, chain.rows(), second), n = 0, j = p.tiles[second[chain.walked]];
  for (const ProductChain &c : chains)
    n += tileProduct(p, c.columns(), second);
  int64_t k = tileProduct(p, chain.first.k, first);
  // Of the first product's results a thread has f32 while they are worked on, and what the second takes of them.
  int64_t registers = (m * j + m * j / 2 + m * n) / (p.warps * 32);
  if (m % 64 || j < 16 || registers + kBesideAccumulators > registerShares(p).consumer)
    return false;
  std::string why;
  if (!canFeedWgmma(p, chain.first.a, chain.first.m, chain.first.k, first, why) ||
      !canFeedWgmma(p, chain.first.b, chain.first.n, chain.first.k, first, why) ||
      !llvm::all_of(chains, [&](const ProductChain &c) { return canFeedWgmma(p, c.other(), c.columns(), c.second.k, second, why); }))
    return false;
  int64_t once = resides ? m * k * kBytes : 0, each = (j * k + j * n + (resides ? 0 : m * k)) * kBytes;
  fitPart(p, n);
  int64_t left = target_.maxSharedPerBlock - kBesideSlots - once - m * p.part * kBytes * std::min<int64_t>(2, n / p.part);
  p.stages = std::min<int64_t>(left / each, costs_.chains.mostStages);
  return p.part >= 16 && p.stages >= 2;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and slots of launches with two chained products.
#include "passes/plan/Chain.h"
#include "passes/plan/ChainUnit.h"
#include "passes/plan/PickedTiles.h"
#include "passes/plan/Scheduler.h"

#include "ir/tile/SlotLayout.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/analysis/CascadeMasks.h"
#include "passes/index/Domain.h"
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

/// Tiles of half as many rows for CUDA cores, of four warps that have whole rows of all products: two blocks on a multiprocessor, or one.
static std::vector<LaunchPlan> coresPlans(const LaunchPlan &ofMatrices) {
  std::vector<LaunchPlan> plans;
  for (int64_t blocks : {2, 1}) {
    LaunchPlan &p = plans.emplace_back(ofMatrices);
    p.unit = Unit::Simt;
    p.producerWarps = 0;
    p.persistent = false;
    p.minBlocks = blocks;
    p.stages = 2; // of what is walked
  }
  return plans;
}

/// What a chain's tile has on CUDA cores.
struct CoresTile {
  int64_t rows, round, columns, summed, firsts;
};

/// Whether registers and shared memory hold `tile`.
static bool fitsCores(const LaunchPlan &p, const CoresTile &tile, const Target &target) {
  constexpr int64_t bytes = 4;
  auto slot = [&](int64_t rows, int64_t points) { return rows * (points + tile::paddingOf(points, bytes)); };
  // A thread has the results of a round, and of all columns.
  int64_t threads = p.warps * 32, registers = tile.rows * (tile.firsts * tile.round + tile.columns) / threads;
  int64_t most = std::min<int64_t>(target.maxRegistersPerThread, target.registersPerSm / (threads * p.minBlocks));
  // One slot each of rows and of what the first products make, several of what is walked.
  int64_t once = slot(tile.summed + tile.round, tile.rows), each = slot(tile.summed, tile.round) + slot(tile.round, tile.columns);
  return registers + target.costs->cores.besideCopies <= most &&
         (bytes * (once + p.stages * each) + kBesideSlots) * p.minBlocks <= target.maxSharedPerBlock;
}

int64_t tileOfColumns(int64_t points) {
  constexpr int64_t kSector = 16;
  return int64_t(llvm::alignTo(uint64_t(points), points > kLine / 2 && points % kSector ? kLine : kLine / 2));
}

bool Scheduler::scheduleChain(LaunchPlan &l) {
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (auto reader = dyn_cast<ReduceOp>(ops_[ordinal]))
      if (std::optional<ProductChain> chain = findChain(reader, target_, facts_))
        return scheduleChain(l, {*chain}, findFirsts(l, chain->firsts()), l.dims[n]);
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (std::optional<ProductWalk> walk = findJoinedWalk(ops_[ordinal], target_, facts_)) {
      FirstsOfLaunch firsts = findFirsts(l, walk->firsts());
      return walk->products.empty() ? scheduleWalk(l, *walk, firsts) : scheduleChain(l, walk->products, firsts, l.dims[n]);
    }
  return false;
}

Scheduler::FirstsOfLaunch Scheduler::findFirsts(const LaunchPlan &l, ArrayRef<FirstProduct> products) {
  FirstsOfLaunch firsts;
  for (const FirstProduct &f : products)
    firsts.push_back({f.product, dimsOf(l, ReduceOp(f.op))});
  return firsts;
}

Scheduler::FirstBytes Scheduler::assignFirsts(LaunchPlan &p, const FirstsOfLaunch &firsts, int64_t rows, int64_t columns) {
  FirstBytes needs{0, 0, int64_t(firsts.size())};
  for (const FirstOfLaunch &f : firsts) {
    bool resides = assignSummed(p, f.dims[f.product.k.front()]);
    int64_t k = tileProduct(p, f.product.k, f.dims) * kBytes;
    (resides ? needs.once : needs.each) += rows * k;
    needs.each += columns * k;
  }
  for (int64_t ordinal : p.ops) // (sums that go on from each other have one)
    for (const AddedProducts &added : findAddedProducts(ops_[ordinal]))
      needs.sets -= goesOn(p, ops_, added);
  return needs;
}

bool Scheduler::canFeedFirsts(const LaunchPlan &p, const FirstsOfLaunch &firsts) {
  std::string why;
  return llvm::all_of(firsts, [&](const FirstOfLaunch &f) {
    return canFeedWgmma(p, f.product.a, f.product.m, f.product.k, f.dims, why) &&
           canFeedWgmma(p, f.product.b, f.product.n, f.product.k, f.dims, why);
  });
}

bool Scheduler::isUneven(const LaunchPlan &l) {
  return mayPickTiles(l, ops_, costs_.chains) ||
         llvm::any_of(l.ops, [&](int64_t ordinal) { return getCondition(ops_[ordinal]).has_value(); });
}

bool Scheduler::followsSeldom(const LaunchPlan &l) {
  return llvm::any_of(l.ops, [&](int64_t ordinal) {
    auto cascade = dyn_cast<CascadeOp>(ops_[ordinal]);
    bool hasPoints = cascade && !getYield(cascade).getCondition() &&
                     hasPointEverywhere(getCondition(cascade), getExtents(cascade), getNumParallel(cascade), facts_);
    return cascade && findFollowedExponents(cascade, hasPoints, &facts_).has_value();
  });
}

bool Scheduler::growsAlong(const LaunchPlan &l, int64_t rows, int64_t walked, bool fromStart) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    std::optional<IntegerSet> set = getCondition(ops_[ordinal]);
    auto row = llvm::find(dims, rows), column = llvm::find(dims, walked);
    if (!set || row == dims.end() || column == dims.end())
      continue;
    for (AffineExpr e : set->getConstraints()) {
      std::optional<int64_t> r = linearCoefficient(e, row - dims.begin()), c = linearCoefficient(e, column - dims.begin());
      if (r && c && (fromStart ? *r < 0 && *c > 0 : *r > 0 && *c < 0))
        return true;
    }
  }
  return false;
}

/// Whether data of its rows, or of what it walks, says which points of a tile count: how long a tile is does not follow from its place
/// then.
static bool isMaskedByData(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t rows, int64_t walked) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    auto cascade = dyn_cast<CascadeOp>(ops[ordinal]);
    SmallVector<Value> masks = cascade ? findPointMasks(cascade) : SmallVector<Value>();
    if (cascade && getYield(cascade).getCondition())
      masks.push_back(getYield(cascade).getCondition());
    auto isOfTile = [&, &dims = dims](Operation *op) {
      if (!isa<ReadOp>(op))
        return false;
      llvm::BitVector support = findSupport(op->getResult(0), dims.size());
      return llvm::any_of(support.set_bits(), [&](unsigned d) { return dims[d] == rows || dims[d] == walked; });
    };
    for (Value mask : masks) {
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.inclusive = true;
      (void)getBackwardSlice(mask, &slice, options);
      if (llvm::any_of(slice, isOfTile))
        return true;
    }
  }
  return false;
}

bool Scheduler::canBePaired(const LaunchPlan &p) {
  Count pairs = 1;
  for (int64_t g : p.grid) {
    int64_t most = extentMax(p, g);
    if (most < 0)
      return false;
    pairs *= ceilDiv(Count(most), p.tiles[g] * (g == p.clusterIndex ? 2 : 1));
  }
  int64_t turns = int64_t(ceilDiv(pairs, Count(target_.smCount)));
  // Of the last pair one tile may have few points, or none: little of the whole where there are many.
  int64_t both = 2 * p.tiles[p.clusterIndex], most = extentMax(p, p.clusterIndex);
  bool isWhole = knownDivisor(p.extents.getResult(p.clusterIndex), facts_) % both == 0 ||
                 double(most) >= costs_.chains.pairsWhole * double(llvm::alignTo(uint64_t(most), uint64_t(both)));
  return isWhole && double(int64_t(pairs)) >= costs_.chains.pairsFilled * double(turns * target_.smCount);
}

void Scheduler::balance(LaunchPlan &p, int64_t walked) {
  if (!isUneven(p))
    return;
  bool grows = growsAlong(p, p.clusterIndex, walked, false), startsLater = growsAlong(p, p.clusterIndex, walked, true);
  bool canStay = p.producerWarps > 0; // whose warps fill the next tile's slots meanwhile
  // Pairs are alike where places alone say how long tiles are (docs/lab/2026-11-26-attention-2.md, of data ..-attention-6.md).
  p.paired = canStay && grows != startsLater && p.inFlight > 1 && !isMaskedByData(p, ops_, p.clusterIndex, walked) && canBePaired(p);
  p.persistent = p.paired || (canStay && grows && startsLater);
  p.descending = grows && !startsLater;
}

std::vector<LaunchPlan> Scheduler::chainsOfRows(const LaunchPlan &l, ArrayRef<unsigned> rows, ArrayRef<unsigned> batch,
                                                ArrayRef<int64_t> dims) {
  int64_t points = extentProduct(l, rows, dims, likely_), products = std::max<int64_t>(1, extentProduct(l, batch, dims, likely_));
  // Tiles of 64 rows where those of 128 would leave half of the device without work, or half of their rows.
  bool isFew = points >= 0 && (points <= 64 || products * ceilDiv(Count(points), 128) * 2 <= target_.smCount);
  std::vector<LaunchPlan> plans;
  for (int64_t m : isFew ? SmallVector<int64_t>{64} : SmallVector<int64_t>{128, 64}) {
    LaunchPlan &p = plans.emplace_back(l);
    p.unit = hasInstructions(Unit::Wgmma, target_) ? Unit::Wgmma : Unit::Mma;
    p.warps = m / 16; // rows of an instruction, of either unit
    p.producerWarps = target_.wgmma ? 4 : 0;
    p.persistent = target_.wgmma && !isUneven(l);
    p.raster = 8;
    assign(p, rows, dims, m);
    if (int64_t has = tileProduct(p, rows, dims);
        has < 64) // fewer rows than the unit multiplies at once; copies skip rows beyond the extent
      p.tiles[dims[rows.back()]] *= 64 / has;
  }
  return plans;
}

std::optional<LaunchPlan> Scheduler::chainOfThrees(const LaunchPlan &l, ArrayRef<unsigned> rows, ArrayRef<unsigned> batch, unsigned walked,
                                                   ArrayRef<int64_t> dims) {
  // Rows of one index: heads that share keys and values have tiles of their own.
  ArrayRef<unsigned> own = rows.take_back(), others = rows.drop_back();
  int64_t points = extentProduct(l, own, dims, likely_), walk = extentProduct(l, {walked}, dims, likely_);
  if (!target_.wgmma || isUneven(l) || points < 0 || walk < costs_.chains.threesWalk)
    return std::nullopt;
  auto productOf = [&](ArrayRef<unsigned> list) { return std::max<int64_t>(1, extentProduct(l, list, dims, likely_)); };
  Count products = Count(productOf(batch)) * productOf(others);
  auto tilesOf = [&](int64_t each) { return products * ceilDiv(Count(points), each); };
  auto rowsInTurn = [&](int64_t each) { return double(ceilDiv(tilesOf(each), target_.smCount) * each); }; // of a multiprocessor
  if (rowsInTurn(kThreeWarpgroupRows) * costs_.chains.threesTime > rowsInTurn(128) ||
      tilesOf(kThreeWarpgroupRows) < Count(2 * target_.smCount))
    return std::nullopt;
  LaunchPlan p = chainsOfRows(l, rows, batch, dims).front();
  p.warps = 12;
  for (unsigned d : others)
    p.tiles[dims[d]] = 1;
  assign(p, own, dims, kThreeWarpgroupRows);
  return tileProduct(p, rows, dims) == kThreeWarpgroupRows ? std::optional(p) : std::nullopt;
}

bool Scheduler::assignSummed(LaunchPlan &p, int64_t index) {
  int64_t most = extentMax(p, index);
  bool resides = most >= 0 && most <= costs_.chains.mostSummed;
  p.tiles[index] = resides ? std::max<int64_t>(kLine, llvm::PowerOf2Ceil(uint64_t(most))) : kLine;
  return resides;
}

bool Scheduler::scheduleWalk(LaunchPlan &l, const ProductWalk &walk, const FirstsOfLaunch &firsts) {
  const Contraction &c = firsts.front().product;
  ArrayRef<int64_t> dims = firsts.front().dims;
  ArrayRef<unsigned> rows = rowsOf(walk);
  int64_t walked = dims[walk.walkedOfS];
  SmallVector<unsigned> batch(c.batch); // and parts of what is walked
  for (unsigned d : rows == ArrayRef(c.m) ? c.n : c.m)
    if (d != walk.walkedOfS)
      batch.push_back(d);
  for (LaunchPlan &p : chainsOfRows(l, rows, batch, dims))
    for (int64_t j : {256, 128, 64}) {
      p.producerRegisters = costs_.chains.plainFill;
      p.tiles[walked] = clampTile(p, walked, j);
      int64_t height = tileProduct(p, rows, dims), width = p.tiles[walked];
      FirstBytes needs = assignFirsts(p, firsts, height, width);
      p.stages = std::min<int64_t>((target_.maxSharedPerBlock - kBesideSlots - needs.once) / needs.each, costs_.chains.mostWalkStages);
      // What is worked on beside the accumulators: an exponential's arguments.
      int64_t accumulators = height * width / (p.warps * 32), registers = accumulators * needs.sets + accumulators / 4;
      if (height % 64 || width < 16 || p.stages < 2 || registers + kBesideAccumulators > registerShares(p).consumer ||
          !canFeedFirsts(p, firsts))
        continue;
      p.clusterIndex = dims[rows.back()];
      balance(p, walked);
      // L2 bounds rows that are brought again every round: two blocks share what they walk (docs/lab/2026-11-26-cascades.md).
      int64_t most = extentMax(p, p.clusterIndex), blocks = most < 0 ? 0 : llvm::divideCeil(most, p.tiles[p.clusterIndex]);
      if (needs.once == 0 && (blocks % 2 == 0 || blocks >= 8) && blocks > 0 && isAlikeAlong(p, p.clusterIndex) &&
          !mayPickTiles(p, ops_, costs_.chains))
        p.cluster = 2;
      l = p;
      return true;
    }
  return false;
}

bool Scheduler::isAlikeAlong(const LaunchPlan &l, int64_t index) {
  return llvm::all_of(llvm::zip(l.ops, l.dims), [&](auto member) {
    std::optional<IntegerSet> set = getCondition(ops_[std::get<0>(member)]);
    ArrayRef<int64_t> dims = std::get<1>(member);
    auto at = llvm::find(dims, index);
    return !set || at == dims.end() ||
           llvm::none_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(at - dims.begin()); });
  });
}

bool Scheduler::scheduleChain(LaunchPlan &l, ArrayRef<ProductChain> chains, const FirstsOfLaunch &firsts, ArrayRef<int64_t> second) {
  const ProductChain &chain = chains.front();
  int64_t walked = second[chain.walked];
  bool isCascade = llvm::any_of(l.ops, [&](int64_t o) { return isa<CascadeOp>(ops_[o]); });
  const ChainUnit unit = unitOfChain(chain.second, target_);
  bool seldom = isCascade && followsSeldom(l);
  std::vector<LaunchPlan> plans = chainsOfRows(l, chain.rows(), chain.second.batch, second);
  if (unit.onCores)
    plans = coresPlans(plans.back()); // of few rows
  if (std::optional<LaunchPlan> threes =
          isCascade && !unit.onCores ? chainOfThrees(l, chain.rows(), chain.second.batch, chain.walked, second) : std::nullopt)
    plans.insert(plans.begin(), *threes);
  for (LaunchPlan &p : plans) {
    bool isOfThrees = p.warps == 12;
    int64_t all = 0;
    for (const ProductChain &c : chains) {
      int64_t columns = second[c.columns().front()];
      int64_t most = extentMax(p, columns);
      bool byBoxes = target_.wgmma && !unit.onCores;
      all += p.tiles[columns] = byBoxes ? tileOfColumns(most) : llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(most, 16)));
    }
    if (isOfThrees && all > costs_.chains.fewColumns)
      continue;
    SmallVector<int64_t> rounds = isOfThrees     ? SmallVector<int64_t>{seldom ? costs_.chains.seldomRound : costs_.chains.threesRound}
                                  : unit.onCores ? SmallVector<int64_t>{64, 32}
                                  : isCascade    ? roundsOf(extentMax(p, walked), all, isUneven(p), costs_.chains)
                                                 : SmallVector<int64_t>{128, 64};
    for (int64_t j : rounds) {
      if (!target_.wgmma && !llvm::isPowerOf2_64(uint64_t(j)))
        continue;
      p.tiles[walked] = llvm::isPowerOf2_64(uint64_t(j)) ? clampTile(p, walked, j) : j;
      LaunchPlan fitted = p; // (its parts and stages are for these tiles)
      // Where a cascade works on the first product, the second one's unit has the time of it. (what is carried is counted below)
      bool isBeside = isCascade && target_.wgmma && !unit.onCores;
      fitted.inFlight = isBeside ? 2 : 1;
      fitted.producerRegisters = isOfThrees ? costs_.chains.threesFill : isBeside ? costs_.chains.plainFill : 0;
      if (!fitsChain(fitted, chains, firsts, second))
        continue;
      fitted.held &= !isOfThrees; // (not timed: of 160 registers few are left)
      auto hasSeveral = [&](unsigned d) { return extentMax(p, second[d]) < 0 || extentMax(p, second[d]) > p.tiles[second[d]]; };
      auto last = llvm::find_if(llvm::reverse(chain.rows()), hasSeveral);
      fitted.clusterIndex = second[last != chain.rows().rend() ? *last : chain.rows().front()];
      balance(fitted, walked);
      // One loop without a mask behind the first round (docs/lab/2026-11-26-attention-4.md).
      fitted.backward = isCascade && fitted.descending;
      fitted.lagging = isBeside && seldom && (isOfThrees || all >= costs_.chains.seldomColumns * p.tiles[walked]);
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

bool Scheduler::fitsChain(LaunchPlan &p, ArrayRef<ProductChain> chains, const FirstsOfLaunch &firsts, ArrayRef<int64_t> second) {
  const ProductChain &chain = chains.front();
  int64_t m = tileProduct(p, chain.rows(), second), n = 0, j = p.tiles[second[chain.walked]];
  for (const ProductChain &c : chains)
    n += tileProduct(p, c.columns(), second);
  FirstBytes needs = assignFirsts(p, firsts, m, j);
  if (p.unit == Unit::Simt) {
    int64_t summed = 0;
    for (const FirstOfLaunch &f : firsts) {
      int64_t k = f.dims[f.product.k.front()], most = extentMax(p, k);
      if (most < 0)
        return false;
      summed += p.tiles[k] = llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(most, 4)));
    }
    return fitsCores(p, {m, j, n, summed, int64_t(firsts.size())}, target_);
  }
  // Of the first products' results a thread has f32 while they are worked on, and what the second takes of them.
  int64_t registers = (needs.sets * m * j + m * j / 2 + m * n) / (p.warps * 32);
  if (p.unit == Unit::Mma) // and fragments of all columns, two sets
    registers += std::max(j, n) / 2;
  if (m % 64 || j < 16 || registers + kBesideAccumulators > registerShares(p).consumer)
    return false;
  int64_t factors = needs.once / 4 / (p.warps * 32);
  p.held = p.unit != Unit::Mma && p.inFlight > 1 && factors > 0 && registers + factors + kBesideAccumulators <= registerShares(p).consumer;
  if (p.unit == Unit::Mma) { // what threads copy needs no boxes
    bool resides = llvm::all_of(firsts, [&](const FirstOfLaunch &f) {
      int64_t k = f.dims[f.product.k.front()], most = extentMax(p, k);
      return most >= 0 && most <= p.tiles[k];
    });
    p.stages = std::min<int64_t>((target_.maxSharedPerBlock - kBesideSlots - needs.once) / (needs.each + j * n * kBytes), 2);
    return resides && p.stages >= 2;
  }
  std::string why;
  if (!canFeedFirsts(p, firsts) ||
      !llvm::all_of(chains, [&](const ProductChain &c) { return canFeedWgmma(p, c.other(), c.columns(), c.second.k, second, why); }))
    return false;
  int64_t each = needs.each + j * n * kBytes;
  each += bytesBeside(p, indicesOf(chain.rows(), second), second[chain.walked]); // a bias, a mask: brought as the factors are
  fitPart(p, n);
  StoredBytes stored = storedBytes(p);
  for (; p.part >= 16; p.part /= 2) { // of results that leave in parts, as small as it takes
    int64_t staged = m * p.part * (stored.boxes * std::min<int64_t>(2, n / p.part) + stored.turned);
    int64_t left = target_.maxSharedPerBlock - kBesideSlots - needs.once - staged;
    p.stages = std::min<int64_t>(left / each, costs_.chains.mostStages);
    if (p.stages >= 2)
      return true;
  }
  return false;
}

} // namespace kernelc::te

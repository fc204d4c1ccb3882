// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and slots of launches with a product on warpgroup units: the cost model of unit wgmma.
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/ProductRounds.h"
#include "passes/plan/ProductTime.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Scheduler.h"

#include <numeric>

#include "ir/te/TeShape.h"
#include "ir/tile/Accumulator.h"
#include "passes/index/Strides.h"
#include "passes/index/TileCondition.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

/// Columns that an instruction has come by so many.
static constexpr int64_t kColumnStep = 8;
/// Columns that an instruction has at most.
static constexpr int64_t kMostColumns = 256;

Scheduler::WarpgroupProduct Scheduler::settleProduct(const LaunchPlan &l, const Contraction &given, const WarpgroupForm &form,
                                                     ArrayRef<int64_t> dims, bool turns) {
  WarpgroupProduct w;
  Contraction &c = w.c = given;
  w.bytes = w.aBytes = unitBytes(form.type);
  w.m = extentProduct(l, c.m, dims, likely_);
  w.n = extentProduct(l, c.n, dims, likely_);
  w.batch = std::max<int64_t>(1, extentProduct(l, c.batch, dims, likely_));
  int64_t summed = extentProduct(l, c.k, dims, likely_);
  summed = summed < 0 ? costs_.merging.unknownExtent : summed;
  w.slots = llvm::divideCeil(summed * w.bytes, kSlotRow);
  w.inRegisters = form.aInRegisters || form.bInRegisters;
  auto mostOf = [&](ArrayRef<unsigned> list, int64_t extent) {
    int64_t most = mostPoints(l, list, dims);
    return extent < 0 ? most : most < 0 ? extent : std::min(extent, most);
  };
  int64_t rows = mostOf(c.m, extentProduct(l, c.m, dims, facts_)), columns = mostOf(c.n, extentProduct(l, c.n, dims, facts_));
  // The unit's 64 rows are filled by the side that comes from registers, else by the longer one.
  bool isShort = rows >= 0 && rows < 64;
  if (w.inRegisters ? form.bInRegisters : turns || (isShort && (columns < 0 || columns >= 64))) {
    c.swapOperands();
    std::swap(w.m, w.n);
  }
  w.turned = turns;
  w.operands = double(w.batch) *
               (double(std::max<int64_t>(0, w.m)) * double(w.aBytes) + double(std::max<int64_t>(0, w.n)) * double(w.bytes)) *
               double(summed);
  w.promote = promoteAfter(form.type);
  w.sets = w.promote || !c.partScales.empty() || walksTwice(l) ? 2 : 1;
  auto straddles = [&](Value factor) { return findOperandRead(factor) && rowsStraddleLines(factor); };
  w.straddled = straddles(c.a) || straddles(c.b);
  w.loadBound = !w.inRegisters && w.m >= 0 && w.n >= 0 && c.n.size() == 1 && c.partScales.empty() && w.straddled;
  w.inTile = findInTile(l);
  w.alike = !given.where && !given.isAMasked() && !given.isBMasked() && !given.resultWhere;
  w.stored = storedBytes(l);
  bool isPlain = w.alike && !w.loadBound && c.m.size() == 1 && c.n.size() == 1 &&
                 llvm::all_of(llvm::seq<size_t>(0, l.ops.size()), [&](size_t n) { return reducedInTile(l, n).empty(); });
  w.tall = isPlain && !w.inRegisters && w.stored.boxes + w.stored.turned <= 2 && stagedReads(l, c, dims).empty();
  // A schedule that gives tiles or warps means those of one team.
  bool isGiven = llvm::any_of(ArrayRef<StringRef>{"tiles", "warps", "pingpong", "turned"},
                              [&](StringRef key) { return isInSchedule(kernel_, target_.name, l.name, key); });
  w.alone = isPlain && !w.inRegisters && w.sets == 1 && !w.stored.turned && !w.straddled && !isGiven && stagedReads(l, c, dims).empty();
  // A turned tile stores its results one by one. Where rows are few, and all are a tile's columns, that costs little.
  w.mayTurn = w.alone && (w.tall || rows <= kMostColumns) && !isShort && rows >= 0 && columns >= 64;
  // Rows that are too few for the unit's have columns by 8, too.
  w.turned = turns || (w.alone && c.m != given.m);
  ReadOp first = findOperandRead(c.a);
  w.three = isPlain && !w.stored.turned && (w.inRegisters ? first && first.getResult().getType().isF32() : w.stored.boxes <= 2);
  w.acrossColumns = findOperandRead(c.b) && !runsAlong(findOperandRead(c.b), c.k);
  w.inChunks = w.promote > 128 / w.bytes && mayShareAccumulators(c);
  // Where each tile's product is added to a sum, two are in flight if a third set of accumulators has room; else the unit waits while sums
  // are added up (128 columns in pairs are as fast as 192 one by one).
  w.isAdded = !w.inRegisters && w.sets == 2 && !walksTwice(l) && !w.inChunks;
  return w;
}

void Scheduler::shareOtherwise(LaunchPlan &p, SmallVector<unsigned> list, ArrayRef<int64_t> dims, llvm::function_ref<bool()> isFed) {
  constexpr size_t kMost = 4;
  if (list.size() < 2 || list.size() > kMost)
    return;
  SmallVector<int64_t> best(p.tiles);
  int64_t most = 0, tile = tileProduct(p, list, dims);
  llvm::sort(list);
  do
    for (size_t tiled = list.size(); tiled > 0; --tiled) {
      for (unsigned d : list)
        p.tiles[dims[d]] = 1;
      assign(p, ArrayRef<unsigned>(list).take_back(tiled), dims, tile);
      int64_t points = tileProduct(p, list, dims);
      if (points <= most || !isFed())
        continue;
      most = points;
      best = p.tiles;
    }
  while (std::next_permutation(list.begin(), list.end()));
  p.tiles = best;
}

bool Scheduler::feedTiles(LaunchPlan &p, WarpgroupProduct &w, ArrayRef<int64_t> dims, std::string &why) {
  const Contraction &c = w.c;
  // The unit's least is 8 columns, and 64 rows; what lies beyond the extent costs nothing to bring.
  if (tileProduct(p, c.n, dims) < 8)
    p.tiles[dims[c.n.back()]] *= 8 / tileProduct(p, c.n, dims);
  if (w.inRegisters && tileProduct(p, c.m, dims) < 64)
    p.tiles[dims[c.m.back()]] *= 64 / tileProduct(p, c.m, dims);
  auto feeds = [&] {
    return (w.inRegisters ? canFeedRegisters(p, c.a, c.m, c.k, dims, w.aBytes, why) : canFeedWgmma(p, c.a, c.m, c.k, dims, why)) &&
           canFeedWgmma(p, c.b, c.n, c.k, dims, why);
  };
  // Else with rows of one reduced index alone, whichever runs along memory.
  SmallVector<unsigned> alone(tiledK(p, c, dims));
  bool fed = feeds();
  std::string asPlanned = why; // (what is tried instead fails for reasons of its own)
  if (!fed && !w.inRegisters && std::none_of(p.tiles.begin(), p.tiles.end(), [&](int64_t t) { return t & (t - 1); }) && w.inTile.none()) {
    if (!canFeedWgmma(p, c.a, c.m, c.k, dims, why))
      shareOtherwise(p, c.m, dims, [&] { return canFeedWgmma(p, c.a, c.m, c.k, dims, why); });
    if (!canFeedWgmma(p, c.b, c.n, c.k, dims, why))
      shareOtherwise(p, c.n, dims, [&] { return canFeedWgmma(p, c.b, c.n, c.k, dims, why); });
    fed = feeds() && tileProduct(p, c.m, dims) % 64 == 0;
  }
  while (!fed) {
    if (alone.empty()) {
      why = asPlanned;
      return false;
    }
    unsigned run = alone.pop_back_val();
    for (unsigned d : c.k)
      p.tiles[dims[d]] = d == run ? clampTile(p, dims[d], 128 / w.bytes) : 1;
    fed = feeds();
  }
  bool fits = tileProduct(p, c.m, dims) % 64 == 0 && tileProduct(p, c.n, dims) % 8 == 0 && tileProduct(p, c.k, dims) * w.bytes % 32 == 0;
  if (!fits)
    why = "its tiles are smaller than the unit's";
  return fits;
}

/// The next shorter part of so many columns that rows of a slot run across; 0 where there is none.
static int64_t shorterPart(int64_t columns, int64_t part) {
  do
    part -= kColumnStep;
  while (part > 0 && columns % part);
  return std::max<int64_t>(0, part);
}

int64_t Scheduler::partOf(const WarpgroupProduct &w, int64_t rows, int64_t columns) {
  int64_t part = LaunchPlan().part;
  while (columns % std::min(columns, part))
    part /= 2;
  if (!w.turned || part >= costs_.warpgroups.shortestPart)
    return part;
  // Along the rows of a slot parts have any width: as few as shared memory has room for.
  part = columns;
  while (part > 0 && part * rows > costs_.warpgroups.largestPart)
    part = shorterPart(columns, part);
  return part;
}

int64_t Scheduler::stageTiles(LaunchPlan &l, const WarpgroupProduct &w, ArrayRef<int64_t> dims) {
  const Contraction &c = w.c;
  int64_t bm = tileProduct(l, c.m, dims), bn = tileProduct(l, c.n, dims), bk = tileProduct(l, c.k, dims);
  l.warps = bm == kThreeWarpgroupRows ? 12 : bm >= 128 && l.pingpong == 1 ? 8 : 4;
  l.producerWarps = 4;
  // What an epilogue reads and writes passes through two slots of a part of the last column index each, and through one
  // what leaves by elements (tile-stage-loads, tile-stage-stores).
  int64_t stageBytes = (bm * w.aBytes + bn * w.bytes) * bk, row = l.tiles[dims[c.n.back()]];
  int64_t merged = partialBytes(l, c, dims);
  SmallVector<int64_t> reads = stagedReads(l, c, dims);
  int64_t boxes = std::accumulate(reads.begin(), reads.end(), w.stored.boxes);
  // Barriers, and what tiles of shared memory are rounded up to.
  int64_t beside = 2048 + 1024 * std::max<int64_t>(0, int64_t(reads.size()) - 1);
  SmallVector<int64_t> columns = llvm::map_to_vector(c.n, [&](unsigned d) { return l.tiles[dims[d]]; });
  auto stagesBeside = [&](int64_t part) {
    tile::ColumnCut cut = tile::cutColumns(columns, part);
    int64_t parts = columns[cut.index] / cut.extent, slots = std::min<int64_t>(2, parts) * l.pingpong, points = bm * (bn / parts);
    return (target_.maxSharedPerBlock - beside - merged - points * (slots * boxes + w.stored.turned)) / stageBytes;
  };
  l.part = partOf(w, bm, row);
  auto shorter = [&](int64_t part) { return w.turned && !llvm::isPowerOf2_64(row) ? shorterPart(row, part) : part / 2; };
  if (l.pingpong > 1) // each team has slots of its own for results
    l.part = std::min<int64_t>(l.part, 32);
  // Smaller parts where larger ones would cost the product a slot of a short ring.
  constexpr int64_t kLeastPart = 16;
  if (int64_t part = shorter(l.part); part >= kLeastPart && stagesBeside(l.part) < 4 && stagesBeside(part) > stagesBeside(l.part))
    l.part = part;
  for (int64_t part = shorter(l.part); part >= kLeastPart && stagesBeside(l.part) < 2; part = shorter(part))
    l.part = part;
  l.stages = std::clamp<int64_t>(stagesBeside(l.part), 2, 12);
  return stageBytes;
}

void Scheduler::walkTiles(LaunchPlan &l, const Contraction &given, const WarpgroupProduct &w, ArrayRef<int64_t> dims) {
  const Contraction &c = w.c;
  // Where data picks which blocks of an operand are read, tiles have little of that operand in common. The tiles of one row share the
  // other operand: run one after the other, they find it in L2.
  bool picksBlocks = c.where && llvm::any_of(splitConjuncts(c.where), [](Value part) { return !findLinearBound(part); });
  // In launches of few waves with more rows than columns, blocks walk two rows of tiles at a time, not eight. Not where blocks share
  // columns in clusters anyway, because rows lie in two lines each (docs/lab/2026-11-26-planner-3.md).
  const WarpgroupCosts &costs = costs_.warpgroups;
  Count tiles = likelyTiles(l, c, dims);
  bool isLong = w.turned ? w.n >= w.m : c.m == given.m && w.m >= w.n;
  bool isOver = Count(0) < tiles && tiles <= costs.fewWaves * target_.smCount && w.batch == 1 && isLong && !w.straddled;
  l.raster = picksBlocks ? 1 : isOver ? costs.fewRaster : 8;
  // A tile across the border of two groups takes twice as long, and such tiles lie at the groups' distances; phases have different
  // numbers of rounds, and follow each other.
  l.rotate = (given.where && !picksBlocks) || !given.endedK.empty();
  // Tiles without a result end at once, so blocks take tiles as they become free (1.26 to 1.29 times as fast for a
  // lower half, H200).
  l.persistent = !given.resultWhere;
  // Also for schedules that ask for clusters: the last index of rows that has tiles for several blocks.
  auto hasSeveral = [&](unsigned d) { return extentMax(l, dims[d]) < 0 || extentMax(l, dims[d]) > l.tiles[dims[d]]; };
  auto walked = llvm::find_if(llvm::reverse(c.m), hasSeveral);
  l.clusterIndex = dims[walked != c.m.rend() ? *walked : c.m.front()];
}

void Scheduler::clusterTiles(LaunchPlan &l, const WarpgroupProduct &w, ArrayRef<int64_t> dims, int64_t stageBytes) {
  const Contraction &c = w.c;
  const WarpgroupCosts &costs = costs_.warpgroups;
  int64_t bm = tileProduct(l, c.m, dims), bn = tileProduct(l, c.n, dims), bk = tileProduct(l, c.k, dims);
  // A box's row that lies in two lines of L2 is two requests: where that is so, two blocks that share the columns'
  // operand are up to 1.4 times as fast; beside results that leave by elements up to 1.2 times, where blocks have several tiles.
  // Elsewhere clusters gain nothing (docs/lab).
  int64_t blocks = w.m < 0 ? 0 : llvm::divideCeil(w.m, bm);
  Count tiles = w.n < 0 ? Count(0) : Count(blocks) * ceilDiv(Count(w.n), bn);
  // So are tiles that two sets of accumulators keep small, of operands in parts: each is loaded for several of the sum's terms (docs/lab).
  bool shares = ((w.stored.turned && bm < 256) || w.inChunks) && tiles > target_.smCount;
  // So are slots whose rows have 64 bytes, two requests for what others bring in one, where that takes longer than to meet.
  bool mayShare = mayPair(w, w.tile) && bn >= 64 && stagedReads(l, c, dims).empty();
  if (!(w.straddled || shares || isWorthPairs(w, w.tile)) || !mayShare)
    return;
  l.cluster = 2;
  l.raster = w.stored.turned && !w.straddled ? 6 : l.raster; // of 2 to 16 the best, by up to 3 %
  // L2 bounds what straddling rows bring: in launches of few tiles more slots only let some blocks' later ones go before others' first.
  int64_t summed = extentProduct(l, c.k, dims, likely_);
  Count rounds = w.n < 0 || summed < 0 ? Count(0) : ceilDiv(w.batch * tiles, target_.smCount) * ceilDiv(Count(summed), bk);
  if (w.straddled && summed > 0 && rounds <= costs.straddlingTiles)
    l.stages = std::clamp<int64_t>(costs.straddlingBytes / stageBytes, 2, l.stages);
}

bool Scheduler::scheduleWgmma(LaunchPlan &l, const Contraction &given, ArrayRef<int64_t> dims, std::string &why) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(given);
  if (!target_.wgmma || !form)
    return false;
  WarpgroupProduct w = settleProduct(l, given, *form, dims, /*turns=*/false);
  LaunchPlan p = l;
  if (!chooseTile(p, w, dims)) {
    why = "no tile of the unit holds all that is reduced in it";
    return false;
  }
  if (w.mayTurn && w.m >= 0 && w.n >= 0) {
    WarpgroupProduct other = settleProduct(l, given, *form, dims, /*turns=*/true);
    LaunchPlan turned = l;
    if (chooseTile(turned, other, dims) && other.time * costs_.warpgroups.leastGain < w.time) {
      w = other;
      p = turned;
    }
  }
  if (!feedTiles(p, w, dims, why))
    return false;
  l = p;
  int64_t stageBytes = stageTiles(l, w, dims);
  walkTiles(l, given, w, dims);
  clusterTiles(l, w, dims, stageBytes);
  return true;
}

SmallVector<int64_t> Scheduler::uniformTiles(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> most(l.indices.size(), 0);
  if (c.where)
    for (auto [d, index] : llvm::enumerate(dims))
      most[index] = findUniformTile(c.where, d);
  return most;
}

SmallVector<int64_t> Scheduler::stagedReads(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> bytes;
  SmallVector<Value> counted;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    Operation *op = ops_[ordinal];
    if (isa<ReduceOp>(op) && reducedInTile(l, n).empty()) // the product
      continue;
    op->walk([&](ReadOp read) {
      llvm::BitVector support = findSupport(read.getResult(), getExtents(op).getNumResults());
      auto dependsOn = [&](ArrayRef<unsigned> list) {
        return llvm::all_of(list, [&](unsigned d) {
          auto own = llvm::find(l.dims[n], dims[d]);
          return own != l.dims[n].end() && support[own - l.dims[n].begin()];
        });
      };
      if (isMadeIn(l, ops_, read.getTensor()) || llvm::is_contained(counted, read.getTensor()) || !dependsOn(c.m) || !dependsOn(c.n))
        return;
      counted.push_back(read.getTensor());
      bytes.push_back(std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8));
    });
  }
  llvm::sort(bytes, std::greater<>());
  bytes.truncate(std::min<size_t>(bytes.size(), l.producerWarps - 1));
  return bytes;
}

Scheduler::StoredBytes Scheduler::storedBytes(const LaunchPlan &l) {
  auto isOutside = [&](Operation *user) {
    while (!isa<ReturnOp>(user) && !isDomainOp(user))
      user = user->getParentOp();
    return isa<ReturnOp>(user) || !llvm::is_contained(l.ops, llvm::find(ops_, user) - ops_.begin());
  };
  StoredBytes stored;
  llvm::BitVector inTile = findInTile(l);
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    if (isa<ScatterOp>(ops_[ordinal]) || isAddedByBlocks(l, n, ops_))
      continue; // from registers
    auto cascade = dyn_cast<CascadeOp>(ops_[ordinal]);
    SmallVector<int64_t> reduced = reducedInTile(l, n);
    int64_t window = 1; // points of a window that has one result
    for (int64_t index : reduced)
      window = window < 0 || extentMax(l, index) < 0 ? -1 : window * extentMax(l, index);
    for (OpResult result : ops_[ordinal]->getResults()) {
      // (of what is reduced over more than a window in a tile, or has its rows alone, there is too little to count)
      bool isSmall = (!reduced.empty() && (window < 0 || window > costs_.copies.largestWindow)) ||
                     (cascade && cascade.getOwnDims(result.getResultNumber()).size() < size_t(cascade.getNumParallel()));
      if (isSmall || llvm::none_of(result.getUsers(), isOutside))
        continue;
      int64_t bytes = std::max(1u, cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8);
      AffineMap shape = getTensorShape(result);
      bool isReturned =
          llvm::any_of(result.getUsers(), llvm::IsaPred<ReturnOp>) && !getParamStrides(getKernel(ops_[ordinal]), findParam(result));
      bool isBox = !isReturned || shape.getNumResults() < 2 ||
                   knownDivisor(withPinnedSizes(shape.getResults().back(), facts_) * bytes, facts_) % 16 == 0;
      for (unsigned index : inTile.set_bits()) // of windows that are reduced in the tile there is one result
        if (int64_t points = extentMax(l, index);
            points > 0 && (llvm::is_contained(reduced, int64_t(index)) || !llvm::is_contained(l.dims[n], int64_t(index))))
          bytes = llvm::divideCeil(bytes, points);
      (isBox ? stored.boxes : stored.turned) += bytes;
    }
  }
  return stored;
}

bool Scheduler::walksTwice(const LaunchPlan &l) {
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    SmallVector<int64_t> reduced = reducedInTile(l, n);
    auto needsTile = [&](Operation *user) { // (not what is computed from the reduced values alone)
      const int64_t *member = isa<ReadOp>(user) ? llvm::find(l.ops, llvm::find(ops_, user->getParentOp()) - ops_.begin()) : l.ops.end();
      return member != l.ops.end() &&
             llvm::any_of(reduced, [&](int64_t index) { return llvm::is_contained(l.dims[member - l.ops.begin()], index); });
    };
    if (!reduced.empty() && llvm::any_of(ops_[ordinal]->getResult(0).getUsers(), needsTile))
      return true;
  }
  return false;
}

} // namespace kernelc::te

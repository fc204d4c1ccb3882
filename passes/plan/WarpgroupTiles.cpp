// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tiles a product on warpgroup units may have, what they take, and the one that takes least. What launches do with it:
// WarpgroupPlan.cpp.
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/ProductTime.h"
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

/// Columns of whole boxes: those of 16 take longer to copy than what is left out of a tile.
static constexpr int64_t kBoxColumns = 32;

bool Scheduler::takesTile(const WarpgroupProduct &w, const ProductTile &tile) {
  if (!holdsAccumulators(tile, w.sets, target_))
    return false;
  // Only widths that are powers of two suit two cases: a tile that has one scale has to lie within one scale's columns, and a tile of
  // several column indices splits its width among these.
  bool isPower = llvm::isPowerOf2_64(tile.n), isBetween = !isPower && tile.n % 64;
  if (!isPower && (!w.c.partScales.empty() || w.c.n.size() > 1))
    return false;
  // So may several rows' indices, where a tile has not all columns; results that leave by elements want long parts, and straddling rows
  // lose with other widths (H200).
  bool isWhole = w.c.m.size() > 1 && tile.n >= w.n && tile.n % kBoxColumns == 0;
  if (isBetween && ((w.c.m.size() > 1 && !isWhole) || w.stored.turned || (w.loadBound && !isWhole)))
    return false;
  // A part of an epilogue has whole rows of 16 columns, if it does not have these along the rows of its slot; i8 comes by 16 columns.
  if (!isPower &&
      (w.turned ? partOf(w, tile.m, tile.n) < std::min<int64_t>(tile.n, costs_.warpgroups.shortestPart) || (tile.n % 16 && w.bytes == 1)
                : tile.n % 16 != 0))
    return false;
  // What leaves by elements needs registers beside a thread's 128 accumulators.
  return !(w.stored.turned && tile.m * tile.n > 256 * 128) && !(w.loadBound && tile.n > 192) && w.rowBytes(tile) >= 64;
}

double Scheduler::timeOfTile(const WarpgroupProduct &w, const ProductTile &tile, int64_t cluster) {
  const double inFlight = w.isAdded && !holdsAccumulators(tile, 3, target_) ? costs_.warpgroups.oneInFlight : 1;
  if (w.m < 0 || w.n < 0)
    return timeOf(tile, w.m, w.n, w.batch, target_) / inFlight;
  Count blocks = ceilDiv(ceilDiv(Count(w.m), tile.m), cluster) * cluster * ceilDiv(Count(w.n), tile.n);
  if (w.loadBound) // as many rounds, of what half of a cluster of two loads
    return double(ceilDiv(w.batch * blocks, target_.smCount)) * (tile.m + tile.n / 2.0);
  const double leaving = w.inChunks ? costs_.leaving.slot : 0;
  ReadOp first = findOperandRead(w.c.a);
  const int64_t rowPanel = first && !runsAlong(first, w.c.k) ? kSlotRow / w.bytes : 1;
  const int64_t columnPanel = w.acrossColumns ? w.rowBytes(tile) / w.bytes : 1;
  return timeOfTiles({w.batch, w.m, w.n, w.slots, w.operands, inFlight, w.rowBytes(tile), cluster, rowPanel, columnPanel, leaving}, tile,
                     target_);
}

bool Scheduler::isWorthPairs(const WarpgroupProduct &w, const ProductTile &tile) {
  if (!w.acrossColumns || w.m < 0 || w.n < 0 || tile.m != 128 || tile.teams > 1 || w.rowBytes(tile) == kSlotRow || !mayPair(w, tile))
    return false;
  // (In launches of many waves blocks of pairs wait for each other longer than that: docs/lab/2026-11-28-planner-14.md.)
  Count tiles = w.batch * ceilDiv(Count(w.m), tile.m) * ceilDiv(Count(w.n), tile.n);
  return tiles <= 4 * costs_.warpgroups.fewWaves * target_.smCount && timeOfTile(w, tile, 2) < timeOfTile(w, tile);
}

bool Scheduler::mayPair(const WarpgroupProduct &w, const ProductTile &tile) {
  int64_t blocks = w.m < 0 ? 0 : llvm::divideCeil(w.m, int64_t(tile.m));
  return w.alike && !w.inRegisters && w.n >= 0 && w.c.m.size() == 1 && tile.n >= 64 && (blocks % 2 == 0 || blocks >= 8) && blocks > 0;
}

namespace {

struct Offer {
  ProductTile tile;
  bool isPlain = false;   ///< of products alone
  bool isTrimmed = false; ///< a measured one without the columns beyond the extent
};

/// The tiles that are weighed: measured ones, those of products alone (of words one team's, of two warpgroups), and where `columns` is more
/// than 0 the first ones without what lies beyond so many columns.
SmallVector<Offer> offersOf(ArrayRef<ProductTile> measured, absl::Span<const ProductTile> plain, bool tall, int64_t columns) {
  SmallVector<Offer> offers;
  for (const ProductTile &tile : measured)
    offers.push_back({tile});
  for (const ProductTile &tile : plain)
    if (tall || (tile.m <= 128 && tile.teams == 1))
      offers.push_back({tile, /*isPlain=*/true});
  for (const ProductTile &tile : measured)
    if (int64_t whole = llvm::alignTo(std::max<int64_t>(0, columns), kBoxColumns); whole < tile.n && 2 * whole > tile.n)
      offers.push_back({{tile.m, int(whole), tile.percent, tile.teams}, /*isPlain=*/false, /*isTrimmed=*/true});
  return offers;
}

} // namespace

/// Whether an operand, or what the launch makes, has an index of `side` as its fastest, or nobody knows.
static bool runsAlongMemory(const LaunchPlan &l, ArrayRef<Operation *> ops, ArrayRef<int64_t> dims, ReadOp read, ArrayRef<unsigned> side) {
  if (!read || runsAlong(read, side))
    return true;
  auto isOf = [&](ArrayRef<int64_t> own, AffineMap out) {
    return out.getNumResults() == 0 || llvm::any_of(side, [&](unsigned d) {
             auto at = llvm::find(own, dims[d]);
             return at != own.end() && out.getResults().back().isFunctionOfDim(unsigned(at - own.begin()));
           });
  };
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    if (auto reduce = dyn_cast<ReduceOp>(ops[ordinal]); reduce && isOf(l.dims[n], reduce.getOutMapOrIdentity()))
      return true;
    if (auto compute = dyn_cast<ComputeOp>(ops[ordinal]); compute && isOf(l.dims[n], compute.getOutMapOrIdentity()))
      return true;
  }
  return false;
}

bool Scheduler::chooseTile(LaunchPlan &p, WarpgroupProduct &w, ArrayRef<int64_t> dims) {
  const Contraction &c = w.c;
  const LaunchPlan untiled = p;
  auto isTaken = [&](const ProductTile &tile) {
    if (tile.m != kThreeWarpgroupRows)
      return w.tall || tile.m <= 128;
    return w.three && w.m >= 0 && w.n >= 0 &&
           w.batch * ceilDiv(Count(w.m), tile.m) * ceilDiv(Count(w.n), tile.n) >= costs_.warpgroups.manyRounds * target_.smCount;
  };
  // The tile whose rounds over the device take least time.
  double least = 0;
  bool found = false;
  absl::Span<const ProductTile> plain = w.alone && w.m >= 0 && w.n >= 0 ? wgmmaPlainTiles() : absl::Span<const ProductTile>();
  int64_t columns = c.m.size() > 1 && c.n.size() == 1 ? w.n : 0;
  for (const Offer &offer : offersOf(productTiles(untiled, c, dims, isTaken), plain, w.tall, columns)) {
    const ProductTile &tile = offer.tile;
    if (!takesTile(w, tile))
      continue;
    double time = timeOfTile(w, tile, isWorthPairs(w, tile) ? 2 : 1);
    // (not where a tile has all columns: it is a measured one without those beyond the extent)
    bool isBetween = offer.isPlain && tile.teams == 1 && tile.m <= 128 && tile.n < w.n;
    if (found && time * (isBetween ? costs_.warpgroups.leastGain : 1) >= least)
      continue;
    LaunchPlan tiled = untiled;
    tiled.promote = w.promote;
    tiled.unit = Unit::Wgmma;
    tiled.pingpong = tile.teams;
    auto assignSide = [&](Value factor, ArrayRef<unsigned> all, int64_t points) {
      SmallVector<unsigned> side = c.tiledOf(all);
      if (c.where || llvm::any_of(side, [&](unsigned d) { return w.inTile[dims[d]]; }))
        assign(tiled, side, dims, points);
      else
        assignResults(tiled, side, dims, points, 0, runsAlongMemory(untiled, ops_, dims, findOperandRead(factor), all));
    };
    assignSide(c.a, c.m, tile.m);
    assignSide(c.b, c.n, tile.n);
    constexpr int64_t kRows = 64; // of the unit: a tile with fewer is turned anyway
    tiled.turned = w.turned && (w.n >= kRows || tileProduct(tiled, c.n, dims) >= kRows);
    assign(tiled, tiledK(tiled, c, dims), dims, 128 / w.bytes); // rows of a slot fill the widest swizzle
    // A slot whose rows run along such an index has no place for another of its class.
    auto sharesTile = [&](unsigned d) { return w.inTile[dims[d]]; };
    auto isTiled = [&](unsigned d) { return !w.inTile[dims[d]] && tiled.tiles[dims[d]] > 1; };
    auto isCrowded = [&](Value factor, ArrayRef<unsigned> own) {
      ReadOp read = findOperandRead(factor);
      return llvm::any_of(own, sharesTile) && llvm::any_of(own, isTiled) && (!read || runsAlong(read, own));
    };
    std::string unfed;
    if (offer.isTrimmed && !canFeedWgmma(tiled, c.b, c.n, c.k, dims, unfed))
      continue;
    if (findCutReduction(tiled) || isCrowded(c.a, c.m) || isCrowded(c.b, c.n))
      continue;
    found = true;
    least = time;
    w.tile = tile;
    w.time = time;
    p = tiled;
  }
  return found;
}

SmallVector<ProductTile> Scheduler::productTiles(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims,
                                                 llvm::function_ref<bool(const ProductTile &)> isTaken) {
  int64_t rows = mostPoints(l, c.m, dims), columns = mostPoints(l, c.n, dims);
  if (rows < 0 && columns < 0)
    return llvm::to_vector(llvm::make_filter_range(wgmmaTiles(), isTaken));
  SmallVector<ProductTile> tiles;
  auto sides = [](int64_t most) {
    return most < 0 ? SmallVector<int64_t>{256, 128, 64} : SmallVector<int64_t>{std::min<int64_t>(most, 256)};
  };
  for (int64_t m : sides(rows))
    for (int64_t n : sides(columns)) {
      // As for the target's own tiles: operands of 1 / m + 1 / n a multiply-add come as fast as 64 of these are done.
      double reuse = double(m) * double(n) / double(m + n);
      tiles.push_back({int(m), int(n), int(costs_.warpgroups.givenTileRate * reuse / (reuse + costs_.warpgroups.givenTileReuse))});
    }
  return tiles;
}

int64_t Scheduler::mostPoints(const LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
  Count points = 1;
  bool limited = false;
  for (unsigned d : list) {
    int64_t uniform = uniform_[dims[d]], extent = extentMax(l, dims[d]);
    limited |= uniform > 0;
    if (!uniform && extent < 0)
      return -1;
    points *= uniform ? uniform : int64_t(llvm::PowerOf2Ceil(uint64_t(extent)));
  }
  return limited ? int64_t(points) : -1;
}

} // namespace kernelc::te

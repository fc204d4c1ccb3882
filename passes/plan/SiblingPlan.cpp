// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and slots of launches with products side by side, and whether such a launch takes less time than one for each.
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/ProductRounds.h"
#include "passes/plan/Scheduler.h"

#include <cmath>
#include <numeric>

#include "ir/te/TeShape.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// Of a launch's tile, in which a schedule may enlarge some index yet.
constexpr int64_t kMostPoints = int64_t(1) << 30;

/// What shared memory is asked for by a round of `sets` products of m × n side by side whose rows are the same, in the time that the unit
/// takes: what copies write, and what instructions of 64 rows and a warpgroup's columns read.
double sharedLoad(int64_t m, int64_t n, int64_t sets) {
  double written = double(m) + double(sets) * double(n);
  double read = double(sets) * (double(m) / 64) * (64 + double(n));
  return (written + read) / (double(sets) * double(m) * double(n));
}

/// What part of the best tile's rate they reach: that of the target's tile which asks as much of shared memory; less where all ask less.
double percentOf(int64_t m, int64_t n, int64_t sets) {
  const ProductTile *nearest = nullptr;
  double least = 0, load = sharedLoad(m, n, sets);
  for (const ProductTile &tile : wgmmaTiles()) {
    double distance = std::abs(sharedLoad(tile.m, tile.n, 1) - load);
    if (sets == 1 && tile.m == m && tile.n == n)
      return tile.percent;
    if (!nearest || distance < least) {
      nearest = &tile;
      least = distance;
    }
  }
  return nearest->percent * std::min(1.0, sharedLoad(nearest->m, nearest->n, 1) / load);
}

bool readsSeveral(Operation *statement, ArrayRef<Sibling> products) {
  return llvm::count_if(products, [&](Sibling s) {
           return llvm::any_of(s.op->getUsers(), [&](Operation *user) { return user->getParentOp() == statement; });
         }) > 1;
}

} // namespace

int64_t Scheduler::accumulatorSets(const LaunchPlan &l, ArrayRef<Sibling> products) {
  int64_t sets = int64_t(products.size());
  auto isMember = [&](ReduceOp op) { return llvm::any_of(products, [&](const Sibling &s) { return s.op == op; }); };
  for (int64_t ordinal : l.ops)
    for (const AddedProducts &added : findAddedProducts(ops_[ordinal]))
      sets -= isMember(added.first) && isMember(added.second) && goesOn(l, ops_, added);
  return sets;
}

int64_t Scheduler::stageBytesOf(const LaunchPlan &p, ArrayRef<Sibling> products) {
  // Loops one behind the other have the same slots, where these are alike (tile-pipeline).
  using Slots = SmallVector<std::pair<int64_t, bool>>;
  SmallVector<Slots> loops;
  SmallVector<std::tuple<Value, AffineMap, SmallVector<int64_t>>> counted;
  std::optional<size_t> shared;
  for (const Sibling &s : products) {
    ArrayRef<int64_t> dims = p.dims[s.member];
    bool isShared = llvm::any_of(dims, [&](int64_t index) { return llvm::is_contained(p.loops, index); });
    if (!isShared || !shared)
      loops.emplace_back();
    if (isShared && !shared)
      shared = loops.size() - 1;
    for (auto [factor, outer] : {std::pair(s.product.a, ArrayRef(s.product.m)), std::pair(s.product.b, ArrayRef(s.product.n))}) {
      ReadOp read = findOperandRead(factor);
      std::tuple key(read.getTensor(), read.getMapOrIdentity(),
                     llvm::map_to_vector<6>(read.getOperands_(), [&](Value v) { return dims[*findIndex(s.op, v)]; }));
      if (llvm::is_contained(counted, key))
        continue;
      counted.push_back(key);
      int64_t bytes = tileProduct(p, outer, dims) * tileProduct(p, s.product.k, dims) * unitBytes(findWarpgroupType(s.product));
      loops[isShared ? *shared : loops.size() - 1].push_back({bytes, runsAlong(read, s.product.k)});
    }
  }
  int64_t bytes = 0;
  for (auto [n, slots] : llvm::enumerate(loops))
    if (!llvm::is_contained(ArrayRef(loops).take_front(n), slots))
      for (auto [own, alongSum] : slots)
        bytes += own;
  return bytes;
}

bool Scheduler::stageSiblings(LaunchPlan &p, ArrayRef<Sibling> products, int64_t row) {
  const Contraction &c = products.front().product;
  ArrayRef<int64_t> dims = p.dims[products.front().member];
  int64_t results = tileProduct(p, c.m, dims) * tileProduct(p, c.n, dims), stage = stageBytesOf(p, products);
  StoredBytes stored = storedBytes(p);
  SmallVector<int64_t> reads = stagedReads(p, c, dims);
  int64_t boxes = std::accumulate(reads.begin(), reads.end(), stored.boxes);
  auto stagesBeside = [&](int64_t part) {
    part = std::min(row, part);
    int64_t slots = std::min<int64_t>(2, row / part);
    int64_t staged = results / row * part * (slots * boxes + stored.turned) + 1024 * int64_t(reads.size());
    return (target_.maxSharedPerBlock - kBesideSlots - staged) / stage;
  };
  while (row % std::min(row, p.part))
    p.part /= 2;
  while (p.part > 16 && (stagesBeside(p.part) < costs_.siblings.fewestStages ||
                         (stagesBeside(p.part) < 4 && stagesBeside(p.part / 2) > stagesBeside(p.part))))
    p.part /= 2;
  p.stages = std::min<int64_t>(stagesBeside(p.part), 12);
  return p.stages >= costs_.siblings.fewestStages;
}

bool Scheduler::assignSiblings(LaunchPlan &p, ArrayRef<Sibling> products, int64_t m, int64_t n, std::string &why) {
  const Contraction &c = products.front().product;
  ArrayRef<int64_t> dims = p.dims[products.front().member];
  int64_t bytes = unitBytes(findWarpgroupType(c));
  assign(p, c.m, dims, m);
  assign(p, c.n, dims, n);
  for (const Sibling &s : products) {
    SmallVector<unsigned> summed = tiledK(p, s.product, p.dims[s.member]);
    assign(p, summed, p.dims[s.member], 128 / bytes);
    if (p.loops.empty() && summed.size() == 1) // short sums, too: in slots of the others'
      p.tiles[p.dims[s.member][summed.front()]] = 128 / bytes;
  }
  int64_t rows = tileProduct(p, c.m, dims), columns = tileProduct(p, c.n, dims);
  if (rows % 64 || columns % 8 || rows != m) {
    why = "rows or columns are fewer than a tile's";
    return false;
  }
  Count points = 1; // of all indices, those of each loop among them
  for (int64_t t : p.tiles)
    points *= t;
  if (points > kMostPoints) {
    why = "their sums are along too many indices";
    return false;
  }
  for (const Sibling &s : products) {
    ArrayRef<int64_t> own = p.dims[s.member];
    if (!runsAlong(findOperandRead(s.product.b), s.product.k) && (columns & -columns) * bytes < costs_.siblings.narrowest) {
      why = "columns are too few for their rows in memory";
      return false;
    }
    if (tileProduct(p, s.product.k, own) * bytes % 32) {
      why = "what is summed is less than the unit's least";
      return false;
    }
    if (!canFeedWgmma(p, s.product.a, s.product.m, s.product.k, own, why) ||
        !canFeedWgmma(p, s.product.b, s.product.n, s.product.k, own, why))
      return false;
  }
  return true;
}

std::optional<Scheduler::SiblingTiles> Scheduler::tileSiblings(const LaunchPlan &l, ArrayRef<Sibling> products, int64_t m, int64_t n,
                                                               int64_t sets, std::string &why) {
  LaunchPlan p = l;
  p.unit = Unit::Wgmma;
  if (!assignSiblings(p, products, m, n, why))
    return std::nullopt;
  const Contraction &c = products.front().product;
  ArrayRef<int64_t> dims = p.dims[products.front().member];
  int64_t rows = tileProduct(p, c.m, dims), columns = tileProduct(p, c.n, dims);
  p.warps = rows >= 128 ? 8 : 4;
  p.producerWarps = 4;
  p.raster = 8;
  p.persistent = true;
  auto hasSeveral = [&](unsigned d) { return extentMax(l, dims[d]) < 0 || extentMax(l, dims[d]) > p.tiles[dims[d]]; };
  auto walked = llvm::find_if(llvm::reverse(c.m), hasSeveral);
  p.clusterIndex = dims[walked != c.m.rend() ? *walked : c.m.front()];
  if (!stageSiblings(p, products, p.tiles[dims[c.n.back()]])) {
    why = "shared memory does not hold three stages of their operands";
    return std::nullopt;
  }
  SiblingTiles tiled{p};
  int64_t height = extentProduct(l, c.m, dims, likely_), width = extentProduct(l, c.n, dims, likely_);
  int64_t batch = std::max<int64_t>(1, extentProduct(l, c.batch, dims, likely_));
  double rounds =
      height < 0 || width < 0
          ? 1 / (double(rows) * double(columns))
          : double(int64_t(ceilDiv(Count(batch) * ceilDiv(Count(height), rows) * ceilDiv(Count(width), columns), target_.smCount)));
  for (const Sibling &s : products) {
    int64_t summed = extentProduct(l, s.product.k, l.dims[s.member], likely_);
    tiled.time += rounds * double(rows) * double(columns) * double(summed < 0 ? 1 : summed) /
                  (target_.productRate * percentOf(rows, columns, sets) / 100);
  }
  return tiled;
}

double Scheduler::timeApart(const LaunchPlan &l, ArrayRef<Sibling> products) {
  double time = target_.partRates.launch * double(products.size() - 1);
  bool first = true;
  for (Sibling s : products) {
    ArrayRef<int64_t> dims = l.dims[s.member];
    int64_t m = extentProduct(l, s.product.m, dims, likely_), n = extentProduct(l, s.product.n, dims, likely_);
    int64_t batch = std::max<int64_t>(1, extentProduct(l, s.product.batch, dims, likely_));
    int64_t summed = extentProduct(l, s.product.k, dims, likely_);
    double least = -1;
    for (const ProductTile &tile : wgmmaTiles())
      if (double t = std::abs(timeOf(tile, m, n, batch, target_)); least < 0 || (m < 0 || n < 0 ? t > least : t < least))
        least = t;
    double work = m < 0 || n < 0 ? 100 / least : least * 100; // (multiply-adds of one result, or of all)
    time += work * double(summed < 0 ? 1 : summed) / target_.productRate;
    // Of those whose results a statement of the launch reads all but one are written and read.
    bool isRead = llvm::any_of(s.op->getUsers(), [&](Operation *user) {
      return isa<ReadOp>(user) && llvm::is_contained(l.ops, llvm::find(ops_, user->getParentOp()) - ops_.begin());
    });
    if (isRead && !std::exchange(first, false)) {
      double bytes = 2.0 * s.op.getResult().getType().getElementTypeBitWidth() / 8;
      time += (m < 0 || n < 0 ? 1 : double(batch) * double(m) * double(n)) * bytes / target_.partRates.memory;
    }
  }
  return time;
}

bool Scheduler::scheduleSiblings(LaunchPlan &l, ArrayRef<Sibling> products) {
  constexpr int64_t kRows[] = {256, 128, 64}, kColumns[] = {256, 192, 160, 128, 96, 64, 32, 16};
  std::optional<Unit> wanted = getScheduledUnit(kernel_, target_.name, l.name);
  const Contraction &c = products.front().product;
  ArrayRef<int64_t> dims = l.dims[products.front().member];
  int64_t sets = accumulatorSets(l, products);
  for (const Sibling &s : products) // (of one product rows, where of the other)
    for (unsigned d : s.product.batch)
      uniform_[l.dims[s.member][d]] = 1;
  // What statements make of several sums at once needs registers of its own beside them.
  bool areCombined = sets > 1 && llvm::any_of(l.ops, [&](int64_t o) { return readsSeveral(ops_[o], products); });
  apart_ = "the schedule asks for another unit";
  std::optional<SiblingTiles> best;
  bool isSimple = c.m.size() == 1 && c.n.size() == 1;
  for (int64_t m : kRows)
    for (int64_t n : kColumns) {
      ProductTile tile{int(m), int(n), 0};
      if ((wanted && wanted != Unit::Wgmma) || (!isSimple && !llvm::isPowerOf2_64(uint64_t(n))))
        continue;
      int64_t threads = m >= 128 ? 256 : 128, combining = areCombined ? costs_.siblings.combining * threads : 0;
      if (!holdsAccumulators(tile, sets, target_) || sets * m * n + combining > target_.accumulatorRegisters * threads)
        continue;
      std::optional<SiblingTiles> tiled = tileSiblings(l, products, m, n, sets, apart_);
      if (tiled && (!best || tiled->time < best->time))
        best = tiled;
    }
  if (!best)
    return false;
  double apart = timeApart(l, products);
  bool isKnown = extentProduct(l, c.m, dims, likely_) >= 0 && extentProduct(l, c.n, dims, likely_) >= 0;
  if (best->time >= apart) {
    apart_ = isKnown ? llvm::formatv("together they take about {0:f0} microseconds, apart {1:f0}", best->time, apart).str()
                     : "their tiles beside each other are smaller than they are apart";
    return false;
  }
  l = best->launch;
  return true;
}

} // namespace kernelc::te

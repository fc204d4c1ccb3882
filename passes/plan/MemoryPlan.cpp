// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of launches without a product that need no more than a thread for a result: pointwise statements, and
// short sums of neighbours.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/index/LinearRead.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/Merging.h"
#include "passes/plan/RowForm.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>
using namespace mlir;

namespace kernelc::te {

/// Whether the launch's statements read and write in so many places that NVRTC's time counts them.
static bool hasManyAccesses(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t many) {
  int64_t accesses = int64_t(l.ops.size());
  for (int64_t ordinal : l.ops)
    ops[ordinal]->walk([&](ReadOp) { ++accesses; });
  return accesses >= many;
}

/// Vectors of a thread, of `vector` elements along launch index `along`: two, to have more bytes in flight, where that is no more than
/// `most` bytes. What lacks an index of the launch, as the angles of all heads do, is asked for once.
static int64_t vectorsOf(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t along, int64_t vector, int64_t most,
                         const SizeFacts &facts) {
  int64_t bytes = 0;
  llvm::SmallPtrSet<Value, 8> counted;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    Operation *op = ops[ordinal];
    op->walk([&, &dims = dims](ReadOp read) {
      Operation *maker = read.getTensor().getDefiningOp();
      bool isMade = maker && llvm::is_contained(l.ops, llvm::find(ops, maker) - ops.begin());
      llvm::BitVector support = findSupport(read.getResult(), getExtents(op).getNumResults());
      bool isStream = llvm::all_of(llvm::enumerate(dims), [&](auto dim) {
        return support.test(dim.index()) || knownMax(l.extents.getResult(dim.value()), facts) == 1;
      });
      if (!isMade && isStream && llvm::any_of(support.set_bits(), [&](unsigned d) { return dims[d] == along; }) &&
          counted.insert(read.getTensor()).second)
        bytes += vector * std::max<int64_t>(8, read.getTensor().getType().getElementType().getIntOrFloatBitWidth()) / 8;
    });
  }
  return 2 * bytes <= most ? 2 : 1;
}

/// Whether some read runs along launch index `index` while it varies along `across`, and has so many of the launch's points that it is no
/// statistic of a row: fewer than `few` points of the indices that it lacks, the digits of a tensor in parts among them.
static bool isTurned(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t index, int64_t across, int64_t few, const SizeFacts &facts) {
  bool turned = false;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    Operation *op = ops[ordinal];
    op->walk([&, &dims = dims](ReadOp read) {
      llvm::BitVector support = findSupport(read.getResult(), getExtents(op).getNumResults());
      AffineMap map = read.getMapOrIdentity();
      auto runsAlong = [&](unsigned d) {
        std::optional<unsigned> dim = findIndex(op, read.getOperands_()[d]);
        return dim && dims[*dim] == index && linearCoefficient(map.getResults().back(), d) == 1;
      };
      auto has = [&](int64_t i) { return llvm::any_of(support.set_bits(), [&](unsigned d) { return dims[d] == i; }); };
      if (map.getNumResults() == 0 || !has(across) || llvm::none_of(llvm::seq(map.getNumDims()), runsAlong))
        return;
      Count lacking = 1;
      for (int64_t i = 0; i < int64_t(l.indices.size()); ++i)
        if (int64_t points = has(i) ? 1 : knownMax(l.extents.getResult(i), facts); points != 1)
          lacking *= points < 0 ? Count(Count::kMost) : Count(points);
      turned |= lacking < few;
    });
  }
  return turned;
}

/// Whether an index that blocks walk has as many points as `index` has: what is reduced over is likely that of which results are made.
static bool isReducedAs(const LaunchPlan &l, int64_t index) {
  return llvm::any_of(llvm::seq<int64_t>(0, l.indices.size()), [&](int64_t other) {
    return !llvm::is_contained(l.grid, other) && l.extents.getResult(other) == l.extents.getResult(index);
  });
}

void Scheduler::scheduleElementwise(LaunchPlan &l) {
  AccessSummary s = summarizeAccesses(l, ops_, facts_);
  int64_t contiguous = s.contiguousIndex();
  l.warps = 8;
  // (What chooses rows, as numbers of 64 bits do, is read once for many elements.)
  int64_t vector = contiguous < 0 ? s.vector() : s.vectorAlong(contiguous);
  // Of many accesses one vector is enough, for each of which NVRTC takes long, and longer where it ends inside a row: such rows have
  // vectors that fit them, be they of one element.
  const bool many = hasManyAccesses(l, ops_, costs_.threads.manyAccesses),
             cuts = !many || contiguous < 0 || knownDivisor(l.extents.getResult(contiguous), facts_) % vector == 0;
  if (!cuts)
    vector = std::gcd(vector, knownDivisor(l.extents.getResult(contiguous), facts_));
  int64_t left = l.warps * 32 * vector * (many ? 1 : vectorsOf(l, ops_, contiguous, vector, costs_.pointwise.askedBytes, facts_));
  // What has fewer indices than the rest (a statistic of each row) is few elements, and no transposition.
  int64_t most = contiguous < 0 ? 0 : s.contiguousBytes[contiguous];
  auto counts = [&](int64_t index) {
    int64_t bytes = s.contiguousBytes[index], few = costs_.pointwise.fewBytes;
    return bytes > 0 && (bytes >= most / few || isTurned(l, ops_, index, contiguous, few, facts_));
  };
  int64_t contiguousCount = llvm::count_if(llvm::seq<int64_t>(0, l.indices.size()), counts);
  // Where reads and writes are contiguous along different indices (a transposition), the tile is square in them. The others follow as they
  // lie in memory: of images with a number for each channel rows of one channel come before other channels.
  // (Not of indices that a statement is reduced over: a tile that lacks their points would have to be reduced again by others.)
  auto weight = [&](int64_t index) { return counts(index) || isReducedAs(l, index) ? s.contiguousBytes[index] : 0; };
  SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(l.grid));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return weight(a) > weight(b); });
  // A line of both sides; of halves of words that vectors do not fit as many as make a request of a line (8191 × 8193 of bf16: 1.4 times as
  // fast).
  int64_t side = 64;
  if (contiguousCount > 1 && contiguous >= 0 && s.byElements[contiguous] && s.widestBytes == 2) {
    side = 128;
    l.warps = 16;
    left = side * side;
  }
  for (int64_t index : order) {
    int64_t want = left;
    if (contiguousCount > 1 && contiguous >= 0 && counts(index))
      want = std::min<int64_t>(left, side);
    l.tiles[index] = clampTile(l, index, want);
    left /= l.tiles[index];
    if (left <= 1)
      break;
  }
  if (contiguousCount == 1 && cuts)
    cutAlongRows(l, ops_, facts_, costs_.alignedRows);
}

bool Scheduler::scheduleBehindFew(LaunchPlan &l) {
  LaunchPlan own = l;
  own.ops.clear();
  own.dims.clear();
  for (size_t n = 0; n < l.ops.size(); ++n)
    if (findMissingIndices(l, n, ops_).empty()) {
      own.ops.push_back(l.ops[n]);
      own.dims.push_back(l.dims[n]);
    }
  if (own.ops.empty() || own.ops.size() == l.ops.size())
    return false;
  scheduleElementwise(own);
  l.tiles = own.tiles;
  // Each thread makes the values that few need, and does so for twice as many results (docs/lab/2026-11-27-chains-10.md).
  l.warps = std::max<int64_t>(1, own.warps / 2);
  int64_t room = costs_.pointwise.largestMade;
  for (int64_t i = int64_t(l.indices.size()); i-- > 0;)
    if (!llvm::is_contained(l.grid, i)) {
      l.tiles[i] = clampTile(l, i, room);
      room = std::max<int64_t>(1, room / l.tiles[i]);
    }
  return true;
}

/// Whether neighbours along launch index `index` read memory at most a few elements apart, wherever a read depends on it.
static bool isDenseAlong(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t index, int64_t mostStep) {
  bool dense = true;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    Operation *op = ops[ordinal];
    op->walk([&](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      for (auto [d, v] : llvm::enumerate(read.getOperands_()))
        if (std::optional<unsigned> dim = findIndex(op, v); dim && l.dims[n][*dim] == index && map.isFunctionOfDim(d)) {
          std::optional<int64_t> step = linearCoefficient(map.getResults().back(), d);
          dense &= step && *step != 0 && std::abs(*step) <= mostStep;
        }
    });
  }
  return dense;
}

/// Whether some read takes the same elements for neighbours along the grid, each with another term of its sum: windows that meet.
static bool haveWindowsThatMeet(const LaunchPlan &l, ArrayRef<Operation *> ops) {
  bool meet = false;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
    ops[ordinal]->walk([&, &dims = dims](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      for (AffineExpr subscript : map.getResults()) {
        bool hasResult = false, hasTerm = false;
        for (auto [n, v] : llvm::enumerate(read.getOperands_()))
          if (subscript.isFunctionOfDim(n))
            for (unsigned d : findSupport(v, dims.size()).set_bits())
              (llvm::is_contained(l.grid, dims[d]) ? hasResult : hasTerm) = true;
        meet |= hasResult && hasTerm;
      }
    });
  return meet;
}

/// The summed index along which windows of neighbours overlap, of neighbours along another index of the grid than `contiguous`:
/// r of `x[h + r, w + s]`. A thread with neighbours along h reads what they share once (tile-layouts).
static std::optional<int64_t> findOverlap(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t contiguous,
                                          llvm::function_ref<int64_t(int64_t)> extentMax) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    std::optional<int64_t> found;
    ops[ordinal]->walk([&, op = ops[ordinal], &dims = dims](ReadOp read) {
      LinearRead linear = lineariseSubscripts(op, read);
      for (auto [r, coefficients] : llvm::enumerate(linear.coefficients)) {
        int64_t own = 0, term = -1;
        for (auto [d, by] : llvm::enumerate(coefficients)) {
          if (by == 0 || linear.others[r])
            continue;
          if (!llvm::is_contained(l.grid, dims[d]))
            term = d;
          else if (dims[d] != contiguous)
            own = by;
        }
        if (own && term >= 0 && std::abs(own) < std::abs(coefficients[term]) * extentMax(dims[term]))
          found = dims[term];
      }
    });
    if (found)
      return found;
  }
  return std::nullopt;
}

bool Scheduler::scheduleWindows(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t vector) {
  if (l.grid.empty() || !isDenseAlong(l, ops_, l.grid.back(), costs_.pointwise.windowStep))
    return false;
  int64_t contiguous = l.grid.back();
  int64_t terms = 1;
  for (int64_t index : inner) {
    int64_t max = extentMax(l, index);
    if (max < 0 || max > costs_.pointwise.windowTerms || (terms *= max) > costs_.pointwise.windowTerms)
      return false;
  }
  Count results = 1; // enough of them that a sum needs one thread only
  for (int64_t index : l.grid) {
    int64_t max = extentMax(l, index);
    results *= max < 0 ? Count::kMost : max;
  }
  if ((terms < costs_.pointwise.shortWindow ? results : results / vector) < costs_.pointwise.windowThreads * target_.smCount)
    return false; // a longer sum can be shared by warps
  l.warps = 8;
  std::optional<int64_t> taps = findOverlap(l, ops_, contiguous, [&](int64_t index) { return extentMax(l, index); });
  if (taps && extentMax(l, *taps) > kMostTaps)
    taps = std::nullopt;
  int64_t left = l.warps * 32 * (taps ? std::max(vector, costs_.pointwise.windowResults) : vector);
  bool meet = haveWindowsThatMeet(l, ops_);
  auto tileOf = [&](int64_t index, int64_t want, int64_t least) { // (sums of parts are read once, wherever tiles end)
    int64_t tile = clampTile(l, index, want);
    return meet ? cutTile(tile, extentMax(l, index), least) : tile;
  };
  const int64_t rows = costs_.pointwise.windowRows; // (shorter tiles read more of what windows share)
  l.tiles[contiguous] = tileOf(contiguous, taps ? std::max<int64_t>(32, left / rows) : left, 32); // (a warp beside a row's end at least)
  left /= l.tiles[contiguous];
  for (int64_t index : llvm::reverse(l.grid))
    if (index != contiguous && left > 1) {
      l.tiles[index] = tileOf(index, left, rows);
      left /= l.tiles[index];
    }
  if (taps) { // all of a thread's rows at a time, of one place in each
    l.tiles[*taps] = extentMax(l, *taps);
    return true;
  }
  int64_t room = 32 / vector; // terms that are loaded at once, of `vector` results
  for (int64_t index : llvm::reverse(inner)) {
    // Rounds of which the last has little to do are shorter: of 5 terms two and not four at a time.
    int64_t tile = clampTile(l, index, room), max = extentMax(l, index);
    while (tile < max && int64_t(llvm::alignTo(uint64_t(max), uint64_t(tile))) * 4 > max * 5)
      tile /= 2;
    l.tiles[index] = tile;
    room = std::max<int64_t>(1, room / tile);
  }
  return true;
}

} // namespace kernelc::te

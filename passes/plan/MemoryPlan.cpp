// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of pointwise launches.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
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
      bool isMade = isMadeIn(l, ops, read.getTensor());
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
        lacking *= has(i) ? Count(1) : countOf(l.extents.getResult(i), facts);
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
  // Of a launch that has a thread for each point at once nothing is saved by vectors, and each block fetches more instructions before
  // memory is asked for and behind that.
  bool isOnGrid = contiguousCount == 1 && l.grid.size() == l.indices.size();
  int64_t points = isOnGrid ? knownPoints(l.extents, l.grid, facts_) : -1;
  bool isSmall = points >= 0 && points <= target_.smCount * costs_.pointwise.fewThreads;
  if (isSmall)
    left = l.warps * 32;
  for (int64_t index : order) {
    int64_t want = left;
    if (contiguousCount > 1 && contiguous >= 0 && counts(index))
      want = std::min<int64_t>(left, side);
    l.tiles[index] = clampTile(l, index, want);
    left /= l.tiles[index];
    if (left <= 1)
      break;
  }
  if (contiguousCount == 1 && cuts && !isSmall)
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

} // namespace kernelc::te

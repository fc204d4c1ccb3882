// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps for launches of short sums over windows (pooling, depthwise filters), which one thread computes alone.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Runs.h"
#include "passes/index/Strides.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/RowForm.h"
#include "passes/plan/Sharing.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

/// Whether all reads that depend on launch index `index` read elements a few apart, at most, for its neighbouring points.
static bool isDenseAlong(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t index, int64_t mostStep, const SizeFacts &facts) {
  bool dense = true;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    Operation *op = ops[ordinal];
    op->walk([&](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      if (isMadeIn(l, ops, read.getTensor()))
        return;
      for (auto [d, v] : llvm::enumerate(read.getOperands_()))
        if (std::optional<unsigned> dim = findIndex(op, v); dim && l.dims[n][*dim] == index && map.isFunctionOfDim(d)) {
          AffineExpr last = withPinnedSizes(map.getResults().back(), map.getNumDims(), map.getNumSymbols(), facts);
          std::optional<int64_t> step = linearCoefficient(last, d);
          dense &= step && *step != 0 && std::abs(*step) <= mostStep;
        }
    });
  }
  return dense;
}

/// Whether all reads that depend on launch index `index` can read whole vectors of `vector` elements along it: what else they depend on
/// moves them by whole vectors.
static bool hasVectorsAlong(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t index, int64_t vector, const SizeFacts &facts) {
  bool vectors = true;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
    ops[ordinal]->walk([&, op = ops[ordinal], &dims = dims](ReadOp read) {
      LinearRead linear = lineariseSubscripts(op, read, &facts);
      if (isMadeIn(l, ops, read.getTensor()))
        return;
      unsigned last = linear.coefficients.size() - 1;
      for (unsigned d = 0; d < dims.size(); ++d) {
        SmallVector<unsigned> at = dims[d] == index ? linear.subscriptsWith(d) : SmallVector<unsigned>();
        if (at.empty())
          continue;
        vectors &= at.size() == 1 && at[0] == last && !linear.others[last] && linear.coefficients[last][d] == 1 &&
                   knownDivisor(linear.rest[last], facts) % vector == 0 && hasVectorRows(read, facts);
        for (auto [other, by] : llvm::enumerate(linear.coefficients[last]))
          vectors &= other == d || by % vector == 0 || knownMax(l.extents.getResult(dims[other]), facts) == 1;
      }
    });
  return vectors;
}

/// Whether windows overlap: some read takes the same element for neighbours along the grid, as another term of each one's sum.
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

/// The result index and the summed index along which windows overlap, h and r of `x[h + r, w + s]`, where the former is not `contiguous`. A
/// thread with neighbours along h reads what their windows share once (tile-layouts).
struct Overlap {
  int64_t results, terms;
};
static std::optional<Overlap> findOverlap(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t contiguous,
                                          llvm::function_ref<int64_t(int64_t)> extentMax) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    std::optional<Overlap> found;
    ops[ordinal]->walk([&, op = ops[ordinal], &dims = dims](ReadOp read) {
      LinearRead linear = lineariseSubscripts(op, read);
      for (auto [r, coefficients] : llvm::enumerate(linear.coefficients)) {
        int64_t own = -1, term = -1;
        for (auto [d, by] : llvm::enumerate(coefficients)) {
          if (by == 0 || linear.others[r])
            continue;
          if (!llvm::is_contained(l.grid, dims[d]))
            term = d;
          else if (dims[d] != contiguous)
            own = d;
        }
        if (own >= 0 && term >= 0 && std::abs(coefficients[own]) < std::abs(coefficients[term]) * extentMax(dims[term]))
          found = Overlap{dims[own], dims[term]};
      }
    });
    if (found)
      return found;
  }
  return std::nullopt;
}

/// Tiles for windows that are read as vectors (channels last): a thread has a vector of results, and its neighbours along `near`, whose
/// windows overlap.
void Scheduler::assignVectorWindows(LaunchPlan &l, int64_t contiguous, int64_t near, int64_t vector, Count results) {
  int64_t neighbours = costs_.pointwise.windowVectors, line = Column{0, kVectorBytes / vector, false}.perLine();
  while (neighbours > 1 && results / (l.warps * 32 * vector * neighbours) < costs_.pointwise.windowBlocks * target_.smCount)
    neighbours /= 2;
  int64_t left = l.warps * 32 * vector * neighbours;
  l.tiles[contiguous] = 1; // (that of a streamed sum's other operand is whole)
  auto take = [&](int64_t index, int64_t want, int64_t least) {
    left *= l.tiles[index];
    l.tiles[index] = cutTile(clampTile(l, index, std::min(want, left)), extentMax(l, index), std::min(want, least));
    left = std::max<int64_t>(1, left / l.tiles[index]);
  };
  take(contiguous, line, 4 * vector);
  take(near, costs_.pointwise.windowRows, neighbours);
  for (int64_t index : llvm::reverse(l.grid))
    if (index != contiguous && index != near)
      take(index, costs_.pointwise.windowRows, neighbours);
  take(near, l.tiles[near] * left, l.tiles[near]);
  int64_t points = 1; // (each thread has at least a vector)
  for (int64_t index : l.grid)
    points *= l.tiles[index];
  l.warps = std::clamp<int64_t>(points / (32 * vector), 1, l.warps);
}

/// The index along which neighbouring windows are contiguous in memory; -1 where there is none.
static int64_t findDense(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t mostStep, const SizeFacts &facts) {
  auto isDense = [&](int64_t index) { return isDenseAlong(l, ops, index, mostStep, facts); };
  auto last = llvm::find_if(llvm::reverse(l.grid), [&](int64_t index) { return knownMax(l.extents.getResult(index), facts) != 1; });
  if (last != l.grid.rend() && isDense(*last))
    return *last;
  return !l.grid.empty() && isDense(l.grid.back()) ? l.grid.back() : -1;
}

/// Whether a sum is so short, and has so many results, that it needs one thread only.
bool Scheduler::isOfThreads(const LaunchPlan &l, ArrayRef<int64_t> inner, int64_t vector, Count &results) {
  int64_t terms = 1;
  for (int64_t index : inner) {
    int64_t max = extentMax(l, index);
    if (max < 0 || max > costs_.pointwise.windowTerms || (terms *= max) > costs_.pointwise.windowTerms)
      return false;
  }
  for (int64_t index : l.grid) {
    int64_t max = extentMax(l, index);
    results *= max < 0 ? Count::kMost : max;
  }
  // (A longer one can be shared by warps.)
  return (terms < costs_.pointwise.shortWindow ? results : results / vector) >= costs_.pointwise.windowThreads * target_.smCount;
}

/// Whether each sum over `inner` reads by subscripts that are computed, of its terms, too: none of it is any window's.
static bool isFound(const LaunchPlan &l, ArrayRef<Operation *> ops, ArrayRef<int64_t> inner) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    Operation *op = ops[ordinal];
    bool isComputed = llvm::none_of(dims, [&](int64_t index) { return llvm::is_contained(inner, index); }); // no sum
    op->walk([&, &dims = dims](ReadOp read) {
      for (Value v : read.getOperands_())
        if (!findIndex(op, v)) {
          llvm::BitVector support = findSupport(v, dims.size());
          isComputed |= llvm::any_of(support.set_bits(), [&](unsigned d) { return llvm::is_contained(inner, dims[d]); });
        }
    });
    if (!isComputed)
      return false;
  }
  return true;
}

bool Scheduler::scheduleWindows(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t vector) {
  int64_t contiguous = findDense(l, ops_, costs_.pointwise.windowStep, facts_);
  Count results = 1;
  if (contiguous < 0 || !isOfThreads(l, inner, vector, results))
    return false;
  // Of a group's results a thread has all, in vectors of as many.
  SmallVector<int64_t> thin = thinIndices(l);
  if (int64_t own = extentMax(l, contiguous); llvm::is_contained(thin, contiguous) && own < vector && llvm::isPowerOf2_64(uint64_t(own)))
    vector = own;
  l.warps = 8;
  std::optional<Overlap> taps = findOverlap(l, ops_, contiguous, [&](int64_t index) { return extentMax(l, index); });
  if (taps && extentMax(l, taps->terms) > kMostTaps)
    taps = std::nullopt;
  if (taps && vector > 1 && hasVectorsAlong(l, ops_, contiguous, vector, facts_)) {
    assignVectorWindows(l, contiguous, taps->results, vector, results);
    if (llvm::is_contained(thin, contiguous)) // a group's channels, which lie beside each other
      for (int64_t index : inner)
        if (summarizeAccesses(l, ops_, facts_).contiguousBytes[index] > 0)
          l.tiles[index] = clampTile(l, index, costs_.pointwise.windowVectors);
    Count points = 1;
    for (int64_t index : l.grid)
      points *= l.tiles[index];
    if (points >= Count(32 * l.warps)) // (else several threads share a sum)
      l.tiles[taps->terms] = extentMax(l, taps->terms);
    return true;
  }
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
    if (index != contiguous && left > 1 && !llvm::is_contained(thin, index)) {
      l.tiles[index] = tileOf(index, left, rows);
      left /= l.tiles[index];
    }
  if (taps) { // a round takes one element of each of a thread's rows
    l.tiles[taps->terms] = extentMax(l, taps->terms);
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
  // What is found by computed places: threads have whole sums, so that a place is computed once, and not in each lane that has a part.
  Count points = 1;
  for (int64_t index : l.grid)
    points *= l.tiles[index];
  if (isFound(l, ops_, inner))
    l.warps = std::clamp<int64_t>(int64_t(points) / (32 * costs_.pointwise.resultsOfFound), 1, costs_.pointwise.warpsOfFound);
  return true;
}

} // namespace kernelc::te

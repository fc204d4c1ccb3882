// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and warps of reductions that blocks share the work of: rows, columns, and sums that stream one operand.
#include "passes/plan/Scheduler.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Strides.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/GroupWindows.h"
#include "passes/plan/RowForm.h"
#include "passes/plan/Sharing.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

/// Whether something is read that is the same in all blocks.
static bool readsWithoutGrid(const LaunchPlan &l, ArrayRef<Operation *> ops) {
  bool found = false;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    Operation *op = ops[ordinal];
    op->walk([&](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      found |= map.getNumResults() > 0 && llvm::none_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
                 std::optional<unsigned> dim = findIndex(op, operand.value());
                 return dim && llvm::is_contained(l.grid, l.dims[n][*dim]) && map.isFunctionOfDim(operand.index());
               });
    });
  }
  return found;
}

bool Scheduler::scheduleRowParts(LaunchPlan &l, ArrayRef<int64_t> inner) {
  llvm::BitVector inTile = findInTile(l);
  if (inTile.none())
    return false;
  Count held = 1;
  for (int64_t index : llvm::concat<const int64_t>(inner, llvm::to_vector_of<int64_t>(inTile.set_bits()))) {
    l.tiles[index] = clampTile(l, index, costs_.rows.largestHeld);
    held *= l.tiles[index];
  }
  l.warps = std::clamp<int64_t>(int64_t(held) / costs_.rows.perThread / 32, 1, 32);
  return true;
}

/// Whether `index` is a row of its own: of statements that do not have `row` (bytes that two results each make).
static bool isApart(const LaunchPlan &l, int64_t index, int64_t row) {
  return index != row &&
         llvm::none_of(l.dims, [&](const auto &dims) { return llvm::is_contained(dims, index) && llvm::is_contained(dims, row); });
}

int64_t Scheduler::longestRow(const LaunchPlan &l, ArrayRef<int64_t> inner, const AccessSummary &s) {
  int64_t longest = s.contiguousIndex();
  auto length = [&](int64_t index) { return extentMax(l, index) < 0 ? std::numeric_limits<int64_t>::max() : extentMax(l, index); };
  if (!llvm::is_contained(inner, longest))
    return longest;
  for (int64_t index : inner)
    if (s.contiguousBytes[index] == s.contiguousBytes[longest] && isApart(l, index, longest) && length(index) > length(longest))
      longest = index;
  return longest;
}

void Scheduler::scheduleReduction(LaunchPlan &l) {
  AccessSummary s = summarizeAccesses(l, ops_, facts_);
  SmallVector<int64_t> inner;
  for (size_t i = 0; i < l.indices.size(); ++i)
    if (!llvm::is_contained(l.grid, int64_t(i)))
      inner.push_back(i);
  int64_t contiguous = longestRow(l, inner, s);
  if (scheduleRowParts(l, inner))
    return;
  SmallVector<int64_t> thin = thinIndices(l);
  int64_t points = 1; // of a streamed sum's other operand
  for (int64_t index : thin)
    points *= l.tiles[index] = clampTile(l, index, std::numeric_limits<int32_t>::max());
  if (points > 1) {
    bool areGroups = llvm::any_of(l.ops, [&](int64_t ordinal) {
      auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
      return reduce && getStreamedDims(reduce).size() == 1 &&
             isWindowOfGroups(reduce, unsigned(getStreamedDims(reduce)[0]), facts_, target_);
    });
    if (!areGroups || !scheduleWindows(l, inner, s.longestVector()))
      scheduleStreamed(l, inner, thin, s);
    return;
  }
  // Few taps are one thread's, in whose registers windows meet; neighbours of a block share longer filters.
  bool hasFewTaps = llvm::all_of(inner, [&](int64_t index) { return extentMax(l, index) >= 0 && extentMax(l, index) <= kMostTaps; });
  if ((!hasFewTaps && scheduleChannels(l, inner, s)) || scheduleWindows(l, inner, s.longestVector()) ||
      (hasFewTaps && scheduleChannels(l, inner, s)) || schedulePairs(l, inner, contiguous))
    return;
  if (contiguous < 0 || llvm::is_contained(inner, contiguous))
    return scheduleRows(l, inner, thin, contiguous < 0 ? inner.back() : contiguous, s);
  scheduleColumns(l, inner, contiguous, s);
}

int64_t walkedTile(int64_t max, const RowCosts &costs) {
  int64_t best = costs.loopTile;
  for (int64_t tile = costs.loopTile; max >= 0 && tile >= costs.shortestWalk; tile /= 2) {
    int64_t walked = int64_t(llvm::alignTo(uint64_t(max), tile));
    if ((walked - max) * costs.spare <= max)
      return tile;
    if (walked <= int64_t(llvm::alignTo(uint64_t(max), best)))
      best = tile;
  }
  return best;
}

bool Scheduler::holdRow(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t row, const AccessSummary &s) {
  Count rows = 1;
  for (int64_t g : l.grid)
    rows = extentMax(l, g) < 0 ? Count(std::numeric_limits<int32_t>::max()) : rows * extentMax(l, g);
  std::optional<HeldRow> held = findHeldRow(int64_t(rows), extentMax(l, row), target_);
  bool cascades = llvm::any_of(l.ops, [&](int64_t ordinal) { return isa<CascadeOp>(ops_[ordinal]); });
  if (!held || cascades || merge_ == Merge::Launch || inner.size() != 1 || !whyNotShared(kernel_, l, row, ops_).empty())
    return false;
  l.clusterIndex = row;
  // Rows that vectors do not fit take an address for each element: a thread has half as many of them, in smaller blocks where
  // the cluster may have so many.
  const int64_t smallTile = costs_.rows.heldByElements;
  bool byElements = s.byElements[row] && !findRowForm(l, ops_, facts_, costs_.alignedRows);
  if (byElements && extentMax(l, row) <= smallTile * target_.cluster)
    *held = {int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(extentMax(l, row), smallTile)))), smallTile, held->threads};
  else if (byElements)
    held->threads = std::min<int64_t>(1024, 2 * held->threads);
  l.tiles[row] = held->tile;
  l.warps = held->threads / 32;
  l.cluster = held->cluster;
  bool fitsTwo = 2 * held->threads <= 1024 && held->tile > smallTile;
  if (fitsTwo && (byElements || readsWithoutGrid(l, ops_)))
    l.minBlocks = 2;
  return true;
}

/// Statements of a launch that go over the row along `row`.
static int64_t timesWalked(const LaunchPlan &l, int64_t row) {
  return llvm::count_if(l.dims, [&](const auto &dims) { return llvm::is_contained(dims, row); });
}

void Scheduler::assignApart(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t row) {
  SmallVector<int64_t> apart; // several of one statement make such a row together
  for (int64_t index : llvm::reverse(inner))
    if (isApart(l, index, row)) {
      int64_t beside = 1;
      for (int64_t other : apart)
        if (llvm::any_of(l.dims, [&](const auto &dims) { return llvm::is_contained(dims, index) && llvm::is_contained(dims, other); }))
          beside *= l.tiles[other];
      l.tiles[index] = clampTile(l, index, std::max<int64_t>(1, l.tiles[row] / beside));
      apart.push_back(index);
    }
}

bool Scheduler::holdsAll(const LaunchPlan &l, ArrayRef<int64_t> inner, int64_t row) {
  const RowCosts &costs = costs_.rows;
  int64_t whole = 1;
  for (int64_t index : inner)
    whole = extentMax(l, index) < 0 || whole < 0 || isApart(l, index, row)
                ? -1
                : whole * std::min<int64_t>(costs.largestHeld + 1, llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(1, extentMax(l, index)))));
  return inner.size() > 1 && whole > costs.loopTile && whole <= costs.largestHeld && llvm::all_of(l.dims, [&](const auto &dims) {
           return !llvm::is_contained(dims, row) || llvm::all_of(inner, [&](int64_t index) { return llvm::is_contained(dims, index); });
         });
}

void Scheduler::setRowThreads(LaunchPlan &l, const RowWalk &walk, int64_t held) {
  const RowCosts &costs = costs_.rows;
  // Long rows that several statements share: more elements a thread, fewer threads to meet. Two blocks a multiprocessor
  // are asked for where gains and biases would take the registers of the second (kernelc tune on an H200).
  // Results of several statements are held, too: there a thread has as many elements as of shorter rows.
  int64_t results = llvm::count_if(llvm::zip(l.ops, l.dims), [&](auto member) {
    return isa<ComputeOp>(ops_[std::get<0>(member)]) && llvm::is_contained(std::get<1>(member), walk.row);
  });
  bool longRow = walk.resident && !walk.once && results <= 1 && held > costs.longRowFrom && held <= costs.longRowTo;
  int64_t perThread = walk.inRounds ? costs.perWalk : longRow ? 2 * costs.perThread : costs.perThread;
  int64_t threads = std::clamp<int64_t>(held / perThread, 32, 1024);
  l.warps = threads / 32;
  if (longRow && 2 * threads * costs.longRowRegisters <= target_.registersPerSm && readsWithoutGrid(l, ops_))
    l.minBlocks = 2;
}

void Scheduler::joinShortRows(LaunchPlan &l, ArrayRef<int64_t> thin, int64_t row, int64_t held, int64_t vector) {
  const RowCosts &costs = costs_.rows;
  int64_t fitting = std::max(costs.perBlock, l.warps * 32 * costs.shortPerThread / held);
  auto isThin = [&](int64_t index) { return llvm::is_contained(thin, index); };
  auto other = llvm::find_if_not(llvm::reverse(l.grid), isThin);
  int64_t last = other == l.grid.rend() ? l.grid.back() : *other;
  l.tiles[last] = clampTile(l, last, std::min(fitting, costs.perBlock * std::max<int64_t>(1, 32 * vector / l.tiles[row])));
}

/// Bytes of the narrowest elements that lie along `row` in memory: a thread has as many neighbours of all of them.
static int64_t narrowestAlong(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t row) {
  int64_t narrowest = 16;
  auto see = [&](AffineExpr last, ArrayRef<int64_t> indices, Type element) {
    for (auto [d, index] : llvm::enumerate(indices))
      if (index == row && linearCoefficient(last, d) == 1)
        narrowest = std::min<int64_t>(narrowest, std::max(1u, element.getIntOrFloatBitWidth() / 8));
  };
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    Operation *op = ops[ordinal];
    op->walk([&, &dims = dims](ReadOp read) {
      auto indices = llvm::map_to_vector(read.getOperands_(), [&](Value v) {
        std::optional<unsigned> dim = findIndex(op, v);
        return dim ? dims[*dim] : int64_t(-1);
      });
      if (AffineMap map = read.getMapOrIdentity(); map.getNumResults() && isStreamedRead(op, read))
        see(map.getResults().back(), indices, read.getTensor().getType().getElementType());
    });
    if (auto compute = dyn_cast<ComputeOp>(op))
      if (AffineMap out = compute.getOutMapOrIdentity(); out.getNumResults())
        see(out.getResults().back(), dims, compute.getResult().getType().getElementType());
  }
  return narrowest;
}

void Scheduler::scheduleRows(LaunchPlan &l, ArrayRef<int64_t> inner, ArrayRef<int64_t> thin, int64_t row, const AccessSummary &s) {
  const RowCosts &costs = costs_.rows;
  int64_t vector = s.vector(), max = extentMax(l, row);
  RowWalk walk{row, timesWalked(l, row) == 1, max >= 0 && max <= costs.largestHeld};
  // A row that one statement walks need not be held: 1024 threads would have 64 registers each. Half of it is one round of as
  // many loads as the device takes; where there is more to load for each element, or no vectors to load it by, shorter
  // rounds of 16 elements a thread are faster (tables of schedules on an H200).
  if (!walk.once && !walk.resident && holdRow(l, inner, row, s))
    return;
  if (!walk.once && !walk.resident && max >= 0)
    remark(ops_[l.ops.front()]) << "rows of up to " << max << " elements are read " << timesWalked(l, row) << " times: a block holds "
                                << costs.largestHeld
                                << (target_.cluster > 1 ? (", a cluster " + Twine(costs.largestHeld * target_.cluster)).str()
                                                        : std::string());
  walk.inRounds = walk.once && (max < 0 || max > costs.shortRow) &&
                  (s.contiguousReads[row] > 1 || s.byElements[row] || !walk.resident || max > costs.largestHeld / 2);
  int64_t most = walk.once ? costs.largestHeld / 2 : costs.largestHeld;
  // Of images of up to 64 × 64 points that are likely 30 × 30 a tile of 64 × 64 would have a quarter: what one walk goes over has loops.
  auto tileOf = [&](int64_t index, int64_t want) {
    int64_t tile = clampTile(l, index, want), likely = likelyExtent(l, index);
    return walk.once && inner.size() > 1 && likely > 0 ? std::min(tile, int64_t(llvm::PowerOf2Ceil(uint64_t(likely)))) : tile;
  };
  l.tiles[row] = walk.inRounds ? walkedTile(max, costs_.rows) : tileOf(row, walk.resident ? most : costs.loopTile);
  setRowThreads(l, walk, l.tiles[row]);
  assignApart(l, inner, row);
  // A row that is reduced over several indices is walked by a loop over each of the outer ones. Where several statements read the whole
  // row, and it fits into a block's registers, the block keeps all of it instead.
  bool keepsAll = !walk.once && walk.resident && holdsAll(l, inner, row);
  int64_t room = (keepsAll ? costs.largestHeld : costs.loopTile) / std::max<int64_t>(1, l.tiles[row]), held = l.tiles[row];
  for (int64_t index : llvm::reverse(inner))
    if (index != row && !isApart(l, index, row) && room > 1 && extentMax(l, index) >= 0) {
      l.tiles[index] = tileOf(index, room);
      room /= l.tiles[index];
      held *= l.tiles[index];
    }
  if (keepsAll) {
    setRowThreads(l, walk, held);
    return;
  }
  if (!walk.inRounds) {
    if (l.tiles[row] < 32 * vector * 8)
      l.warps = 4;
    if (held < 32 * vector * 8 && !l.grid.empty()) {
      joinShortRows(l, thin, row, held, vector);
      // Of rows that leave next to nothing a thread asks for two vectors before it waits for the first, or for as many elements as it holds
      // of longer rows where these are loaded one by one; where there are blocks enough. (What is stored again wants more threads.)
      bool leavesLittle = walk.once && llvm::none_of(l.ops, [&](int64_t ordinal) { return isa<CascadeOp>(ops_[ordinal]); });
      int64_t perThread = !leavesLittle ? 0 : s.byElements[row] ? costs.perThread : 2 * vector;
      auto asksForLess = [&](int64_t times) {
        Count blocks = 1, all = held;
        for (int64_t index : l.grid) {
          blocks *= ceilDiv(Count(std::max<int64_t>(1, extentMax(l, index))), l.tiles[index]);
          all *= l.tiles[index];
        }
        return times * all <= 32 * l.warps * perThread && blocks >= 2 * costs.blocks * target_.smCount;
      };
      for (int64_t index : l.grid)
        while (l.tiles[index] > 1 && 2 * l.tiles[index] <= extentMax(l, index) && asksForLess(2))
          l.tiles[index] *= 2;
      // Warps for which the block's rows have no vectors would do the work of others once more.
      int64_t longest = 16 / narrowestAlong(l, ops_, row), rows = 1;
      for (int64_t index : l.grid)
        rows *= std::max<int64_t>(1, l.tiles[index]);
      while (!s.byElements[row] && l.warps > 1 && 2 * held * rows <= 32 * l.warps * longest)
        l.warps /= 2;
    }
  }
  // Each statement is a walk with a round of its own, and NVRTC's time grows with the square of what all rounds come to: many have short
  // ones, of the same threads.
  if (!walk.once && !walk.resident && timesWalked(l, row) >= costs_.threads.manyAccesses)
    l.tiles[row] = clampTile(l, row, costs.shortestWalk);
  shareOut(l, inner, costs_.rows.blocks, /*across=*/false);
}

void Scheduler::scheduleColumns(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t contiguous, const AccessSummary &s) {
  // A line of memory in each row, the reduced index over the warps, and so many bytes of a thread on their way (tables of
  // schedules on an H200). Threads that have columns from end to end share registers with more of their kind; those of rows
  // that vectors do not fit load an element each.
  // Short sums (of parts) are over after one load of each thread: there it is columns that keep it busy. States of several values
  // for each column take the registers that more loads would need.
  const ColumnCosts &costs = costs_.columns;
  Column column{0, s.widestBytes, s.byElements[contiguous]};
  int64_t columns = column.perLine(), perThread = costs.bytesInFlight / s.widestBytes;
  l.warps = 8;
  std::optional<ColumnBlocks> whole = columnBlocksOf(l, contiguous);
  if (whole) {
    l.warps = whole->warps;
    columns = whole->columns;
    perThread = costs.wholeBytesInFlight / whole->column.bytes;
  }
  int64_t length = extentMax(l, inner.back());
  bool isShort = length >= 0 && length <= costs.shortSum, hasStates = llvm::any_of(l.ops, [&](int64_t ordinal) {
                                                            auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
                                                            return isa<CascadeOp>(ops_[ordinal]) || (reduce && reduce.isArg());
                                                          });
  bool isWide = whole && columns > costs.byElements; // several columns a lane
  if (hasStates) { // few of them a thread: what it has asked for needs the registers, and each takes several instructions
    l.warps = 16;
    columns = column.perLine();
    perThread = std::max(costs_.folds.mostPerThread, column.byElements ? 1 : s.vector());
  } else if (isShort) {
    columns = 2 * column.perLine();
    perThread = std::min(perThread, costs.states);
  } else if (column.byElements) {
    l.warps = isWide ? costs.wholeThreads / 32 : 16;
    columns = whole ? columns : costs.byElements;
    perThread = isWide ? costs.elementsInFlight * 32 / columns : costs.elementsInFlight * columns / costs.byElements;
  } else if (l.warps * 32 * costs.blocks <= 1024) {
    l.minBlocks = costs.blocks;
  }
  l.tiles[contiguous] = clampTile(l, contiguous, columns);
  // A thread has one column, or a vector of them: those beyond the last one are read as that instead of asking. Beside a row that
  // they meet (1 × 4095 × 4097) asking is 1.06 to 1.25 times as fast (H200).
  // So it is where a lane has several columns, of which most are there.
  l.clamp = hasWholeTiles(l, contiguous) || !thinIndices(l).empty() || isWide ? 0 : 1;
  auto setLast = [&] { l.tiles[inner.back()] = clampTile(l, inner.back(), l.warps * 32 * perThread / l.tiles[contiguous]); };
  setLast();
  // Of few short columns a thread has as many elements all the same, and a block fewer warps (256 × 8 of bf16: 1.6 times as fast).
  l.warps = std::clamp<int64_t>(l.tiles[contiguous] * l.tiles[inner.back()] / (32 * perThread), 1, l.warps);
  if (whole && merge_ != Merge::Cluster)
    return;
  int64_t blocks = shareOut(l, inner, costs.blocks, /*across=*/true);
  if (l.cluster > 1 && l.warps == 8 && blocks <= target_.smCount) { // one block a multiprocessor
    l.warps = 16;
    setLast();
  }
}

SmallVector<int64_t> Scheduler::thinIndices(const LaunchPlan &l) {
  SmallVector<int64_t> thin;
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    for (int64_t d : getStreamedDims(ops_[ordinal]))
      if (!llvm::is_contained(thin, l.dims[n][d]))
        thin.push_back(l.dims[n][d]);
  return thin;
}

SmallVector<int64_t> Scheduler::thickIndices(const LaunchPlan &l) {
  llvm::BitVector shared(l.indices.size());
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    ops_[ordinal]->walk([&, &dims = l.dims[n], op = ops_[ordinal]](ReadOp read) {
      if (!isStreamedRead(op, read))
        for (unsigned d : findSupport(read.getResult(), dims.size()).set_bits())
          shared.set(unsigned(dims[d]));
    });
  return llvm::to_vector(llvm::make_filter_range(l.grid, [&](int64_t index) { return !shared[unsigned(index)]; }));
}

bool Scheduler::hasVectorsBeside(const LaunchPlan &l) {
  bool vectors = true;
  for (int64_t ordinal : l.ops)
    ops_[ordinal]->walk([&](ReadOp read) { vectors &= isStreamedRead(ops_[ordinal], read) || hasVectorRows(read, facts_); });
  return vectors;
}

void Scheduler::scheduleStreamed(LaunchPlan &l, ArrayRef<int64_t> inner, ArrayRef<int64_t> thin, const AccessSummary &s) {
  const StreamedCosts &costs = costs_.streamed;
  int64_t points = 1, contiguous = s.contiguousIndex(), vector = s.vector();
  for (int64_t index : thin)
    points *= l.tiles[index];
  auto setLast = [&](int64_t index, int64_t want) { l.tiles[index] = clampTile(l, index, want); };
  if (contiguous < 0 || llvm::is_contained(inner, contiguous)) {
    // Rows: 16 for each warp, half a warp along them, so that what it loads of the other operand serves eight rows
    // (tables of schedules on an H200, 4 to 16 points). By elements two rows for each warp, and as many loads on their way as
    // registers allow beside the other operand's.
    // Five to eight points: eight rows for each warp, and two blocks.
    int64_t row = contiguous < 0 ? inner.back() : contiguous;
    bool byElements = s.byElements[row];
    bool shares = points > costs.leastShared && points <= costs.fewPoints;
    l.warps = byElements || shares ? 4 : 2;
    l.minBlocks = !byElements && shares ? 2 : 1;
    setLast(row, byElements ? 32 * vector * (points <= costs.fewPoints ? 2 : 1) : 16 * vector);
    SmallVector<int64_t> thick = thickIndices(l);
    if (!thick.empty())
      setLast(thick.back(), streamedRows(byElements, costs));
    shareOut(l, inner, costs_.rows.blocks, /*across=*/false);
    return;
  }
  // Columns: a thread has sums for each point of the other operand, and at most sixteen loads on their way. Points that need not be there
  // are read as the last one: an address for each takes the place of a guard for each load, and beyond eight of them too many registers for
  // warps that meet along a column (tables of schedules on an H200, 2 to 16 points).
  Column column{0, s.widestBytes, s.byElements[contiguous]};
  int64_t columns = streamedColumns(points, column, costs), width = column.byElements ? 1 : vector, perThread = costs.loads * width;
  l.warps = 8;
  bool isFull = llvm::all_of(thin, [&](int64_t index) { return hasWholeTiles(l, index); });
  if (!column.byElements) {
    l.minBlocks = points <= costs.fewPoints && hasVectorsBeside(l) ? 2 : 1; // (its elements would take the registers)
    l.clamp = isFull ? 0 : points;
    if (!isFull && points > costs.fewPoints)
      l.warps = std::clamp<int64_t>(columns / width / 32, 1, l.warps);
  }
  // What the warps along a column and all of them have of it meets in shared memory: more of them, where the layout's vectors are longer.
  int64_t longest = column.byElements ? 1 : s.longestVector();
  auto sharedBytes = [&] { return (std::min(l.warps, l.warps * 32 * longest / columns) + 1) * points * columns * int64_t(sizeof(float)); };
  while (columns > 32 && sharedBytes() > target_.maxSharedPerBlock * 3 / 4)
    columns /= 2;
  // Sums that are too short for several blocks: narrower ones, of a line at least, until each multiprocessor has one.
  Count length = 1, others = 1, extent = 1; // of what nothing is known there is plenty
  auto most = [&](int64_t index) { return Count(extentMax(l, index) < 0 ? Count::kMost : extentMax(l, index)); };
  for (int64_t index : inner)
    length *= most(index);
  for (int64_t index : l.grid)
    if (!llvm::is_contained(thin, index))
      (index == contiguous ? extent : others) *= most(index);
  while (length < costs_.sharing.length && columns > column.perLine() && others * ceilDiv(extent, columns) < target_.smCount)
    columns /= 2;
  setLast(contiguous, columns);
  setLast(inner.back(), std::min(column.byElements ? perThread * l.warps : costs.longest, l.warps * 32 * perThread / l.tiles[contiguous]));
  shareOut(l, inner, costs.blocks, /*across=*/true, sharedBytes());
}

std::optional<ColumnBlocks> Scheduler::columnBlocksOf(const LaunchPlan &l, int64_t contiguous) {
  std::optional<ColumnBlocks> all;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    if (llvm::all_of(l.dims[n], [&](int64_t d) { return llvm::is_contained(l.grid, d); }))
      continue; // what is done with results
    std::optional<ColumnBlocks> own = wholeColumns(ops_[ordinal], facts_, target_);
    if (!own || l.dims[n][own->column.dim] != contiguous || (all && (all->columns != own->columns || all->warps != own->warps)))
      return std::nullopt;
    all = own;
  }
  return all;
}

int64_t Scheduler::shareOut(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t perMultiprocessor, bool across, int64_t sharedBytes,
                            bool fills) {
  int64_t most = 0; // tiles
  l.clusterIndex = inner.front();
  for (int64_t index : inner) {
    int64_t max = extentMax(l, index), tiles = max < 0 ? std::numeric_limits<int32_t>::max() : llvm::divideCeil(max, l.tiles[index]);
    if (tiles > most) {
      most = tiles;
      l.clusterIndex = index;
    }
  }
  Count blocks = 1, results = 1;
  int64_t length = extentMax(l, l.clusterIndex), partBytes = 0; // of the results, those of a block
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (auto reduce = dyn_cast<ReduceOp>(ops_[ordinal])) {
      int64_t bytes = 0;
      for (Type type : reduce.getBody().front().getTerminator()->getOperandTypes())
        bytes += type.isIndex() ? int64_t(sizeof(int64_t)) : std::max<int64_t>(4, type.getIntOrFloatBitWidth() / 8);
      for (int64_t d : ArrayRef<int64_t>(l.dims[n]).take_front(reduce.getNumParallel()))
        bytes *= l.tiles[d];
      partBytes += bytes;
    }
  // Each block has what the others sum up, and the total.
  auto fits = [&](int64_t cluster) { return sharedBytes + partBytes * (cluster + 1) <= target_.maxSharedPerBlock; };
  for (int64_t g : l.grid) {
    int64_t max = extentMax(l, g);
    if (max < 0)
      return std::numeric_limits<int32_t>::max(); // plenty of blocks, for all we know
    blocks *= ceilDiv(Count(max), l.tiles[g]);
    results *= max;
  }
  if (merge_ == Merge::Launch || !isWorthSharing(results, length, across, costs_.sharing) ||
      !whyNotShared(kernel_, l, l.clusterIndex, ops_).empty())
    return int64_t(blocks);
  if (fills) { // as few blocks as leave little of the last wave idle
    auto busy = [&](int64_t cluster) {
      return double(blocks * cluster) /
             double(ceilDiv(blocks * cluster, perMultiprocessor * target_.smCount) * perMultiprocessor * target_.smCount);
    };
    for (int64_t cluster = 2;
         busy(l.cluster) < costs_.sharing.leastBusy && cluster <= std::min<int64_t>(target_.cluster, most) && fits(cluster); cluster *= 2)
      if (busy(cluster) > busy(l.cluster))
        l.cluster = cluster;
    return int64_t(blocks * l.cluster);
  }
  // Then further, while the last of several waves of so many blocks leaves much of the device idle.
  const int64_t wave = perMultiprocessor * target_.smCount;
  auto isIdle = [&] {
    return across && double(blocks * l.cluster) < costs_.sharing.leastBusy * double(ceilDiv(blocks * l.cluster, wave) * wave);
  };
  while (l.cluster < target_.cluster && l.cluster * 2 <= most && fits(l.cluster * 2) &&
         (blocks * l.cluster * 2 <= wave || (blocks * l.cluster > wave && isIdle())))
    l.cluster *= 2;
  return int64_t(blocks * l.cluster);
}

} // namespace kernelc::te

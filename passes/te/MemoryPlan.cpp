// Tiles and warps of launches without a product: pointwise statements and reductions.
#include "passes/te/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/te/Contraction.h"
#include "passes/te/Sharing.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace kernelc::te {

namespace {

/// How the elements of one launch are reached in memory.
struct AccessSummary {
  /// Per launch index: weight of the accesses that are contiguous along it. Bytes
  /// per element, times 2^8 for every index the access depends on: an access with
  /// one index more moves as many times more.
  SmallVector<int64_t> contiguousBytes;
  int64_t widestBytes = 1; ///< of the element types accessed
};

AccessSummary summarizeAccesses(const LaunchPlan &launch, ArrayRef<Operation *> ops) {
  AccessSummary s;
  s.contiguousBytes.assign(launch.indices.size(), 0);
  /// `indices`: the launch index of each dim of `map`, -1 for computed subscripts.
  auto count = [&](AffineMap map, ArrayRef<int64_t> indices, Type element) {
    int64_t bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
    s.widestBytes = std::max(s.widestBytes, bytes);
    if (map.getNumResults() == 0)
      return;
    int64_t weight = bytes;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (map.isFunctionOfDim(d) && weight < int64_t(1) << 48)
        weight <<= 8;
    for (auto [d, index] : llvm::enumerate(indices))
      if (index >= 0 &&
          (linearCoefficient(map.getResults().back(), d) == 1 || (element.isInteger(8) && neighboursIn(map.getResults().back(), d))))
        s.contiguousBytes[index] += weight;
  };
  // Beside an operand that is streamed nothing else counts.
  bool streams = llvm::any_of(launch.ops, [&](int64_t ordinal) { return ops[ordinal]->hasAttr(kStreamed); });
  for (auto [n, ordinal] : llvm::enumerate(launch.ops)) {
    Operation *op = ops[ordinal];
    const auto &dims = launch.dims[n];
    if (streams && !op->hasAttr(kStreamed))
      continue;
    op->walk([&](ReadOp read) {
      if (!isStreamedRead(op, read))
        return;
      Operation *producer = read.getTensor().getDefiningOp();
      if (producer && llvm::is_contained(launch.ops, llvm::find(ops, producer) - ops.begin()))
        return;
      SmallVector<int64_t> operandIndex;
      for (Value v : read.getOperands_()) {
        std::optional<unsigned> dim = findIndex(op, v);
        operandIndex.push_back(dim ? dims[*dim] : -1);
      }
      count(read.getMapOrIdentity(), operandIndex, read.getTensor().getType().getElementType());
    });
    if (auto compute = dyn_cast<ComputeOp>(op))
      count(compute.getOutMapOrIdentity(), dims, compute.getResult().getType().getElementType());
  }
  return s;
}

/// The index most bytes are contiguous along, or -1.
int64_t contiguousIndex(const AccessSummary &s) {
  auto it = llvm::max_element(s.contiguousBytes);
  return it == s.contiguousBytes.end() || *it == 0 ? -1 : it - s.contiguousBytes.begin();
}

} // namespace

void Scheduler::scheduleElementwise(LaunchPlan &l) {
  AccessSummary s = summarizeAccesses(l, ops_);
  int64_t contiguous = contiguousIndex(s);
  l.warps = 8;
  int64_t left = l.warps * 32 * (16 / s.widestBytes) * 2;
  // Where reads and writes are contiguous along different indices (a
  // transposition), the tile is square in them.
  SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(l.grid));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return s.contiguousBytes[a] > s.contiguousBytes[b]; });
  int64_t contiguousCount = llvm::count_if(s.contiguousBytes, [](int64_t b) { return b > 0; });
  for (int64_t index : order) {
    int64_t want = left;
    if (contiguousCount > 1 && contiguous >= 0 && s.contiguousBytes[index] > 0)
      want = std::min<int64_t>(left, 64);
    l.tiles[index] = clampTile(l, index, want);
    left /= l.tiles[index];
    if (left <= 1)
      break;
  }
}

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

void Scheduler::scheduleReduction(LaunchPlan &l) {
  AccessSummary s = summarizeAccesses(l, ops_);
  int64_t contiguous = contiguousIndex(s);
  int64_t vector = std::max<int64_t>(1, 16 / s.widestBytes);
  SmallVector<int64_t> inner;
  for (size_t i = 0; i < l.indices.size(); ++i)
    if (!llvm::is_contained(l.grid, int64_t(i)))
      inner.push_back(i);
  SmallVector<int64_t> thin = thinIndices(l);
  int64_t points = 1; // of a streamed sum's other operand
  for (int64_t index : thin)
    points *= l.tiles[index] = clampTile(l, index, std::numeric_limits<int32_t>::max());
  if (points > 1)
    return scheduleStreamed(l, inner, thin, contiguous, vector);
  if (scheduleWindows(l, inner, vector))
    return;
  bool rows = contiguous < 0 || llvm::is_contained(inner, contiguous);
  constexpr int64_t kPerThread = 32; // elements of one tile a thread holds
  constexpr int64_t kLongRowRegisters = 128; // twice as many elements, in f32
  if (rows) {
    int64_t row = contiguous < 0 ? inner.back() : contiguous;
    constexpr int64_t kLargestResident = 32768, kLoopTile = 4096;
    int64_t max = extentMax(l, row);
    bool resident = max >= 0 && max <= kLargestResident;
    // A row that is walked once need not be held: 1024 threads would have 64 registers each.
    int64_t most = l.ops.size() > 1 ? kLargestResident : kLargestResident / 2;
    l.tiles[row] = clampTile(l, row, resident ? most : kLoopTile);
    // Long rows that several statements share: more elements a thread, fewer threads to meet. Two blocks a multiprocessor
    // are asked for where gains and biases would take the registers of the second (kernelc tune on an H200).
    bool longRow = resident && l.ops.size() > 1 && l.tiles[row] > 8192 && l.tiles[row] <= 16384;
    int64_t threads = std::clamp<int64_t>(l.tiles[row] / (longRow ? 2 * kPerThread : kPerThread), 32, 1024);
    l.warps = threads / 32;
    if (longRow && 2 * threads * kLongRowRegisters <= target_.registersPerSm && readsWithoutGrid(l, ops_))
      l.minBlocks = 2;
    // Inner indices of statements that do not have this one are rows of their own (bytes that two results each make).
    auto isApart = [&](int64_t index) {
      return index != row &&
             llvm::none_of(l.dims, [&](const auto &dims) { return llvm::is_contained(dims, index) && llvm::is_contained(dims, row); });
    };
    for (int64_t index : inner)
      if (isApart(index))
        l.tiles[index] = clampTile(l, index, l.tiles[row]);
    // Further inner indices lengthen the row, and are walked around it.
    int64_t room = kLoopTile / std::max<int64_t>(1, l.tiles[row]), held = l.tiles[row];
    for (int64_t index : llvm::reverse(inner))
      if (index != row && !isApart(index) && room > 1 && extentMax(l, index) >= 0) {
        l.tiles[index] = clampTile(l, index, room);
        room /= l.tiles[index];
        held *= l.tiles[index];
      }
    if (l.tiles[row] < 32 * vector * 8)
      l.warps = 4;
    // Short rows: several to a block, a warp each.
    if (held < 32 * vector * 8 && !l.grid.empty()) {
      int64_t rowsPerBlock = 4;
      auto isThin = [&](int64_t index) { return llvm::is_contained(thin, index); };
      auto other = llvm::find_if_not(llvm::reverse(l.grid), isThin);
      int64_t last = other == l.grid.rend() ? l.grid.back() : *other;
      l.tiles[last] = clampTile(l, last, rowsPerBlock * std::max<int64_t>(1, 32 * vector / l.tiles[row]));
    }
    return shareOut(l, inner);
  }
  // Columns: half a warp's width of them (256 bytes a row; kernelc tune on an H200), the
  // reduced index over the warps.
  l.warps = 8;
  int64_t columns = 16 * vector, perThread = kPerThread;
  std::optional<ColumnBlocks> whole = columnBlocksOf(l, contiguous);
  if (whole) {
    constexpr int64_t kBytesInFlight = 128; // of a thread, whose sums share registers
    l.warps = whole->warps;
    columns = whole->columns;
    perThread = kBytesInFlight / whole->column.bytes;
  }
  l.tiles[contiguous] = clampTile(l, contiguous, columns);
  l.tiles[inner.back()] = clampTile(l, inner.back(), l.warps * 32 * perThread / l.tiles[contiguous]);
  if (!whole || merge_ == Merge::Cluster)
    shareOut(l, inner);
}

SmallVector<int64_t> Scheduler::thinIndices(const LaunchPlan &l) {
  SmallVector<int64_t> thin;
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    for (int64_t d : getThinDims(ops_[ordinal]))
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

void Scheduler::scheduleStreamed(LaunchPlan &l, ArrayRef<int64_t> inner, ArrayRef<int64_t> thin, int64_t contiguous, int64_t vector) {
  int64_t points = 1;
  for (int64_t index : thin)
    points *= l.tiles[index];
  auto setLast = [&](int64_t index, int64_t want) { l.tiles[index] = clampTile(l, index, want); };
  if (contiguous < 0 || llvm::is_contained(inner, contiguous)) {
    // Rows: two for each warp, so that what it loads of the other operand serves twice, and two vectors of each in flight where
    // registers hold as many of the other operand's.
    constexpr int64_t kWarps = 4, kRegisterPoints = 8;
    l.warps = kWarps;
    setLast(contiguous < 0 ? inner.back() : contiguous, 32 * vector * (points <= kRegisterPoints ? 2 : 1));
    SmallVector<int64_t> thick = thickIndices(l);
    if (!thick.empty())
      setLast(thick.back(), kStreamedRows);
    return shareOut(l, inner);
  }
  // Columns: 256 bytes of them, four vectors in flight; a thread has sums for each point of the other operand.
  constexpr int64_t kVectors = 4, kColumnVectors = 16;
  l.warps = 8;
  setLast(contiguous, kColumnVectors * vector);
  setLast(inner.back(), l.warps * 32 * kVectors * vector / l.tiles[contiguous]);
  shareOut(l, inner);
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

/// Whether neighbours along launch index `index` read memory at most a few elements apart, wherever a read depends on it.
static bool isDenseAlong(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t index) {
  constexpr int64_t kStep = 4; // whole sectors are used, if not by one access
  bool dense = true;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    Operation *op = ops[ordinal];
    op->walk([&](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      for (auto [d, v] : llvm::enumerate(read.getOperands_()))
        if (std::optional<unsigned> dim = findIndex(op, v); dim && l.dims[n][*dim] == index && map.isFunctionOfDim(d)) {
          std::optional<int64_t> step = linearCoefficient(map.getResults().back(), d);
          dense &= step && *step != 0 && std::abs(*step) <= kStep;
        }
    });
  }
  return dense;
}

bool Scheduler::scheduleWindows(LaunchPlan &l, ArrayRef<int64_t> inner, int64_t vector) {
  if (l.grid.empty() || !isDenseAlong(l, ops_, l.grid.back()))
    return false;
  int64_t contiguous = l.grid.back();
  constexpr int64_t kWindow = 256; // terms of a sum
  int64_t terms = 1;
  for (int64_t index : inner) {
    int64_t max = extentMax(l, index);
    if (max < 0 || max > kWindow || (terms *= std::max<int64_t>(1, max)) > kWindow)
      return false;
  }
  int64_t results = 1; // enough of them that a sum needs one thread only
  for (int64_t index : l.grid) {
    int64_t max = extentMax(l, index);
    if (max < 0 || results > (int64_t(1) << 40) / std::max<int64_t>(1, max)) {
      results = std::numeric_limits<int64_t>::max();
      break;
    }
    results *= max;
  }
  constexpr int64_t kThreadsPerMultiprocessor = 1024, kShort = 64;
  if ((terms < kShort ? results : results / vector) < kThreadsPerMultiprocessor * target_.smCount)
    return false; // a longer sum can be shared by warps
  l.warps = 8;
  int64_t left = l.warps * 32 * vector;
  l.tiles[contiguous] = clampTile(l, contiguous, left);
  left /= l.tiles[contiguous];
  for (int64_t index : llvm::reverse(l.grid))
    if (index != contiguous && left > 1) {
      l.tiles[index] = clampTile(l, index, left);
      left /= l.tiles[index];
    }
  int64_t room = 32 / vector; // terms that are loaded at once, of `vector` results
  for (int64_t index : llvm::reverse(inner)) {
    l.tiles[index] = clampTile(l, index, room);
    room = std::max<int64_t>(1, room / l.tiles[index]);
  }
  return true;
}

void Scheduler::shareOut(LaunchPlan &l, ArrayRef<int64_t> inner) {
  int64_t most = 0; // tiles
  l.clusterIndex = inner.front();
  for (int64_t index : inner) {
    int64_t max = extentMax(l, index), tiles = max < 0 ? std::numeric_limits<int32_t>::max() : llvm::divideCeil(max, l.tiles[index]);
    if (tiles > most) {
      most = tiles;
      l.clusterIndex = index;
    }
  }
  int64_t blocks = 1, results = 1, length = extentMax(l, l.clusterIndex);
  for (int64_t g : l.grid) {
    int64_t max = extentMax(l, g);
    if (max < 0)
      return; // plenty of blocks, for all we know
    blocks *= llvm::divideCeil(max, l.tiles[g]);
    results *= max;
  }
  if (merge_ == Merge::Launch || !isWorthSharing(results, length) || !whyNotShared(kernel_, l, l.clusterIndex, ops_).empty())
    return;
  constexpr int64_t kBlocksPerMultiprocessor = 4;
  while (l.cluster < target_.cluster && l.cluster * 2 <= most && blocks * l.cluster < kBlocksPerMultiprocessor * target_.smCount)
    l.cluster *= 2;
}

} // namespace kernelc::te

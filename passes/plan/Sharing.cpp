// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Sharing.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Strides.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

bool isWorthSharing(Count results, Count length, bool across, const SharingCosts &costs) {
  return (length >= costs.length && results * length >= costs.elements) || length >= costs.rounds * (across ? costs.rows : costs.row);
}

int64_t Column::perLine() const {
  constexpr int64_t kLineBytes = 128, kWarp = 32;
  return byElements ? kWarp : kLineBytes / bytes;
}

int64_t streamedColumns(int64_t points, const Column &column, const StreamedCosts &costs) {
  constexpr int64_t kWarp = 32;
  return column.byElements ? kWarp
                           : costs.vectorsPerPoint * std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(points))), 2, 16) *
                                 (kVectorBytes / column.bytes);
}

std::optional<Column> findColumn(Operation *op, const SizeFacts &facts) {
  std::optional<Column> column;
  unsigned parallel = getNumParallel(op);
  op->walk([&](ReadOp read) {
    AffineMap map = read.getMapOrIdentity();
    bool reduced = llvm::any_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
      std::optional<unsigned> d = findIndex(op, operand.value());
      return d && *d >= parallel && map.isFunctionOfDim(operand.index());
    });
    if (map.getNumResults() == 0 || !reduced || !isStreamedRead(op, read))
      return; // does not depend on the reduced indices, or its few elements stay in a cache
    int64_t bytes = std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8);
    bool byElements = !hasVectorRows(read, facts);
    for (auto [i, v] : llvm::enumerate(read.getOperands_())) {
      unsigned dim = findIndex(op, v).value_or(parallel);
      if (dim < parallel && linearCoefficient(map.getResults().back(), i) == 1)
        column = Column{dim, column ? std::max(column->bytes, bytes) : bytes, byElements || (column && column->byElements)};
    }
  });
  return column;
}

std::optional<ColumnBlocks> wholeColumns(Operation *op, const SizeFacts &facts, const Target &target) {
  const ColumnCosts &costs = target.costs->columns;
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.isArg()) // states of several parts take more registers than so many threads have
    return std::nullopt;
  std::optional<Column> column = findColumn(op, facts);
  AffineMap extents = getExtents(op);
  Count length = 1, results = 1, others = 1;
  int64_t along = 0;
  for (auto [d, extent] : llvm::enumerate(extents.getResults())) {
    int64_t most = knownMax(extent, facts);
    if (most < 0 || !column)
      return std::nullopt;
    if (d >= getNumParallel(op)) {
      length *= most;
      continue;
    }
    if (most > 1 && llvm::is_contained(getStreamedDims(op), int64_t(d)))
      return std::nullopt; // the sums of so many threads take all registers
    results *= most;
    if (d == column->dim)
      along = most;
    else
      others *= most;
  }
  if (!isWorthSharing(results, length, /*across=*/true, target.costs->sharing))
    return std::nullopt;
  // Of rows that begin inside vectors a line's columns lie in two lines: more of them side by side, where there are as many.
  SmallVector<int64_t> widths{column->perLine()};
  if (column->byElements)
    widths.insert(widths.begin(), costs.blocks * costs.byElements);
  // One block each only where a cluster's cannot share the columns out, which keeps more loads on their way.
  for (int64_t columns : widths)
    for (int64_t perMultiprocessor : {2, 1}) {
      if (perMultiprocessor == 1 && target.cluster > 1 && standsAlone(op))
        break;
      Count blocks = others * ceilDiv(Count(along), columns);
      int64_t atOnce = perMultiprocessor * target.smCount;
      if (double(blocks) / double(ceilDiv(blocks, atOnce) * atOnce) >= costs.wholeLeastBusy)
        return ColumnBlocks{*column, columns, costs.wholeThreads / 32 / perMultiprocessor};
    }
  return std::nullopt;
}

std::optional<HeldRow> findHeldRow(int64_t rows, int64_t length, const Target &target) {
  const RowCosts &costs = target.costs->rows;
  if (length <= costs.largestHeld || length > costs.largestHeld * target.cluster)
    return std::nullopt;
  bool two = length <= costs.heldByTwo * target.cluster;
  int64_t tile = two ? costs.heldByTwo : costs.largestHeld;
  int64_t cluster = int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(length, tile))));
  // Where rows are fewer than the device has room for, and long, te-split-reduce cuts each into parts for all multiprocessors. It is read
  // twice then, and no block holds it.
  if (rows >= 0 && Count(rows) * cluster < Count(target.smCount) && isWorthSharing(rows, length, /*across=*/false, target.costs->sharing))
    return std::nullopt;
  return HeldRow{cluster, tile, two ? tile / costs.heldPerThread : costs.heldThreads};
}

/// Another statement, or an earlier value of the output, is written through the same tensor.
static bool continues(Operation *op) {
  if (isa<ScatterOp>(op))
    return true;
  if (auto r = dyn_cast<ReduceOp>(op))
    return r.getInit() || r.getOutMap();
  auto c = dyn_cast<ComputeOp>(op);
  return c && (c.getInit() || c.getOutMap());
}

static bool updatesInputs(KernelOp kernel) {
  for (unsigned o = 0; o < kernel.getOutNames().size(); ++o)
    if (kernel.getAlias(o) >= 0)
      return true;
  return false;
}

/// The statement that `user` is, or is part of.
static Operation *statementOf(Operation *user) {
  while (!isa<ReturnOp>(user) && !isDomainOp(user))
    user = user->getParentOp();
  return user;
}

/// Whether what op makes is read by `isReader` only, and what op reads is made by none but `from`.
static bool isBetween(Operation *op, Operation *from, llvm::function_ref<bool(Operation *)> isReader) {
  bool is = true;
  for (Value result : op->getResults())
    is &= llvm::all_of(result.getUsers(), [&](Operation *user) { return isReader(statementOf(user)); });
  op->walk([&](ReadOp read) { is &= isa<BlockArgument>(read.getTensor()) || read.getTensor().getDefiningOp() == from; });
  return is;
}

/// How many rows statements behind `reduce` read again, -1 where nobody knows; nothing where they do not, or as whyNotShared will say of
/// the launch: nothing is updated, and nobody reads what the statements behind it write.
static std::optional<int64_t> rowsReadAgain(ReduceOp reduce, const SizeFacts &facts) {
  unsigned parallel = reduce.getNumParallel();
  bool again = false, apart = true;
  for (Operation *user : reduce.getResult().getUsers())
    if (auto compute = user->getParentOfType<ComputeOp>(); compute && getExtents(compute) == reduce.getExtents()) {
      again = true;
      apart &= !continues(compute) && llvm::all_of(compute.getResult().getUsers(), [](Operation *reader) { return isa<ReturnOp>(reader); });
    }
  if (!again || !apart || updatesInputs(getKernel(reduce)) || reduce.getNumDims() != parallel + 1 || findColumn(reduce, facts))
    return std::nullopt;
  Count rows = 1;
  for (unsigned d = 0; d < parallel; ++d) {
    int64_t most = knownMax(reduce.getExtents().getResult(d), facts);
    if (most < 0)
      return -1;
    rows *= most;
  }
  return int64_t(rows);
}

std::optional<HeldRow> findHeldRow(ReduceOp reduce, const SizeFacts &facts, const Target &target) {
  std::optional<int64_t> rows = rowsReadAgain(reduce, facts);
  return rows ? findHeldRow(*rows, knownMax(reduce.getExtents().getResult(reduce.getNumParallel()), facts), target) : std::nullopt;
}

bool isHeldByBlocks(ReduceOp reduce, const SizeFacts &facts, const Target &target) {
  std::optional<int64_t> rows = rowsReadAgain(reduce, facts);
  int64_t length = knownMax(reduce.getExtents().getResult(reduce.getNumParallel()), facts);
  if (!rows || (*rows >= 0 && *rows < target.smCount) || length < 0 || length > target.costs->rows.largestHeld)
    return false;
  // Of halves in a tile that is not much more than half full reading again is no more than what the block waits for.
  bool isWide = llvm::any_of(reduce.getBlock().getOps<ReadOp>(), [](ReadOp r) {
    return r.getTensor().getType().getElementTypeBitWidth() >= 32 && r.getTensor().getType().getRank() > 1;
  });
  return isWide || length * 100 > int64_t(llvm::PowerOf2Ceil(uint64_t(length))) * target.costs->rows.halvesFull;
}

bool standsAlone(Operation *op) {
  auto isOutput = [](Operation *user) { return isa<ReturnOp>(user); };
  auto isPointwise = [&](Operation *user) {
    auto c = dyn_cast<ComputeOp>(user);
    return c && !continues(c) && getExtents(c).getResults() == getExtents(op).getResults().take_front(getNumParallel(op)) &&
           isBetween(c, op, isOutput);
  };
  return !isa<FoldOp, RecurrenceOp>(op) && !continues(op) && !updatesInputs(getKernel(op)) &&
         isBetween(op, nullptr, [&](Operation *user) { return isOutput(user) || isPointwise(user); });
}

std::string whyNotShared(KernelOp kernel, const LaunchPlan &launch, int64_t index, ArrayRef<Operation *> ops) {
  // Blocks read what they have not written themselves while the first of them writes.
  if (updatesInputs(kernel))
    return "an output updates an input";
  if (findScannedIndex(launch, ops))
    return "a scan goes from tile to tile";
  if (launch.producerWarps || launch.persistent)
    return "its blocks have roles or walk several tiles";
  bool reduces = false;
  for (auto [n, ordinal] : llvm::enumerate(launch.ops)) {
    Operation *op = ops[ordinal];
    if (continues(op))
      return "a statement continues from earlier values";
    if (isa<FoldOp>(op))
      return "blocks of a cluster do not combine by a reducer of the program";
    if (isa<RecurrenceOp>(op))
      return "a recurrence's steps are one block's";
    if (auto r = dyn_cast<ReduceOp>(op); r && findGeneralContraction(r))
      return "its product takes all of a sum in one block";
    if (isa<ComputeOp>(op)) {
      for (Operation *user : op->getResult(0).getUsers())
        if (llvm::any_of(launch.ops, [&](int64_t other) { return ops[other] == statementOf(user); }))
          return "a statement reads what another one of the launch writes";
      continue;
    }
    reduces |= llvm::is_contained(ArrayRef<int64_t>(launch.dims[n]).drop_front(getNumParallel(op)), index);
  }
  return reduces ? "" : "nothing is reduced over it";
}

} // namespace kernelc::te

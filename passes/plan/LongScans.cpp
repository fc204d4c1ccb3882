// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/LongScans.h"

#include "ir/te/TeShape.h"
#include "ir/tile/Tile.h"
#include "passes/analysis/Contraction.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// How many rows are scanned, at most; nothing where nobody knows.
std::optional<Count> rowsOf(Operation *r, const Scan &scan, const SizeFacts &facts) {
  AffineMap extents = getExtents(r);
  Count rows = 1;
  for (unsigned d = 0; d < scan.reduced; ++d)
    if (int64_t most = d == scan.along ? 1 : knownMax(extents.getResult(d), facts); most >= 0)
      rows *= most;
    else
      return std::nullopt;
  return rows;
}

/// Whether a scan goes along memory, by its stride or because there is one row.
bool liesAlong(Operation *r, const Scan &scan, Count rows) { return runsAlongMemory(r, scan) || rows == Count(1); }

} // namespace

bool runsAlongMemory(Operation *r, const Scan &scan) {
  bool found = false;
  r->walk([&](ReadOp read) {
    AffineMap map = read.getMapOrIdentity();
    for (auto [i, v] : llvm::enumerate(read.getOperands_()))
      found |= map.getNumResults() && findIndex(r, v) == scan.reduced && linearCoefficient(map.getResults().back(), i) == 1;
  });
  return found;
}

int64_t longestHeldRow(Operation *op, const ScanCosts &costs) {
  auto fold = dyn_cast<FoldOp>(op);
  int64_t perThread = costs.perThread / (fold ? int64_t(fold.getNumComponents()) : 1);
  return perThread ? std::min(costs.threads, costs.threadsBehind) * int64_t(llvm::bit_floor(uint64_t(perThread))) : 0;
}

SmallVector<Type> stateTypes(Operation *scan) {
  auto fold = dyn_cast<FoldOp>(scan);
  if (!fold)
    return {cast<RankedTensorType>(scan->getResult(0).getType()).getElementType()};
  return llvm::map_to_vector(llvm::seq(0u, fold.getNumComponents()), [&](unsigned k) { return fold.getComponentType(k); });
}

int64_t wordsOfState(Operation *scan) {
  int64_t words = 0;
  for (Type t : stateTypes(scan))
    words += tile::LookBackOp::wordsOf(t);
  return words;
}

int64_t chunkOf(Operation *r, const Scan &scan, const SizeFacts &facts, const Target &target) {
  constexpr int64_t kColumns = 32; // of a warp
  const ScanCosts &costs = target.costs->scans;
  // What knows no law runs in order; the steps of a recurrence from the end are none of its index's order.
  if (auto fold = dyn_cast<FoldOp>(r); fold && (!fold.getMonoid() || fold.getDescending()))
    return 0;
  int64_t length = knownMax(getExtents(r).getResult(scan.along), facts);
  std::optional<Count> rows = rowsOf(r, scan, facts);
  if (length < 0 || !rows)
    return 0;
  if (liesAlong(r, scan, *rows))
    return *rows < Count(costs.rowBlocks * target.smCount) && length > costs.longestRow ? costs.row : 0;
  int64_t blocks = std::max<int64_t>(1, int64_t(*rows) / kColumns), wanted = costs.columnBlocks * target.smCount;
  if (blocks * 2 > wanted || length < 4 * costs.leastColumn)
    return 0;
  int64_t chunk = int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(length, llvm::divideCeil(wanted, blocks)))));
  chunk = std::max(chunk, costs.leastColumn);
  return chunk * 2 <= length ? chunk : 0;
}

bool looksBack(Operation *r, const Scan &scan, const SizeFacts &facts, const Target &target) {
  if (!chunkOf(r, scan, facts, target))
    return false;
  if (!llvm::all_of(stateTypes(r), tile::LookBackOp::tells))
    return false;
  // What sums a thread's states of several rows at once has them walked (Scheduler::findInTile).
  auto isSummed = [](Operation *user) {
    while (user && !isDomainOp(user))
      user = user->getParentOp();
    return isa_and_nonnull<ReduceOp>(user);
  };
  if (isa<FoldOp>(r) && llvm::any_of(r->getUsers(), isSummed))
    return false;
  return liesAlong(r, scan, *rowsOf(r, scan, facts));
}

int64_t blocksThatHold(const LaunchPlan &l, ArrayRef<Operation *> ops, int64_t along, const SizeFacts &facts, const Target &target) {
  const ScanCosts &costs = target.costs->scans;
  int64_t tile = l.tiles[along], threads = l.warps * 32;
  if (l.ops.size() != 1 || wordsOfState(ops[l.ops.front()]) != 1 || knownDivisor(l.extents.getResult(along), facts) % tile)
    return 0; // (of tiles with masks, too, a thread holds more)
  int64_t bytes = tile * stateTypes(ops[l.ops.front()]).front().getIntOrFloatBitWidth() / 8;
  int64_t inRegisters = target.registersPerSm / (2 * int64_t(llvm::divideCeil(tile, threads)) * threads);
  int64_t held =
      std::min<int64_t>(target.registersPerSm / (costs.registersHeld * threads), target.maxSharedPerBlock / (bytes + costs.bytesBeside));
  return held > inRegisters ? held : 0;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/RowForm.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Strides.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// What a statement of a launch reads from memory, or writes there.
struct RowAccess {
  Value tensor;
  AffineMap map; ///< from the launch's indices, and what data says behind them, to the tensor's dims
  int64_t bytes; ///< of an element
};

int64_t bytesOf(Value tensor) {
  return std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementType().getIntOrFloatBitWidth() / 8);
}

/// Adds the accesses of statement `n` of the launch; what the launch makes and reads itself is in registers. False for statements of other
/// kinds, and those that go on from earlier values of their results.
bool collectAccesses(const LaunchPlan &l, size_t n, ArrayRef<Operation *> ops, SmallVectorImpl<RowAccess> &found) {
  Operation *op = ops[l.ops[n]];
  MLIRContext *context = op->getContext();
  ArrayRef<int64_t> dims = l.dims[n];
  unsigned rank = l.indices.size();
  op->walk([&](ReadOp read) {
    if (isMadeIn(l, ops, read.getTensor()))
      return;
    SmallVector<AffineExpr> places;
    unsigned data = 0;
    for (Value v : read.getOperands_()) {
      std::optional<unsigned> dim = findIndex(op, v);
      places.push_back(getAffineDimExpr(dim ? unsigned(dims[*dim]) : rank + data++, context));
    }
    AffineMap map = read.getMapOrIdentity();
    found.push_back({read.getTensor(), map.replaceDimsAndSymbols(places, {}, rank + data, map.getNumSymbols()), bytesOf(read.getTensor())});
  });
  AffineMap out;
  if (auto compute = dyn_cast<ComputeOp>(op))
    out = compute.getOutMapOrIdentity();
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    out = reduce.getOutMapOrIdentity();
  SmallVector<AffineExpr> places = llvm::map_to_vector(dims, [&](int64_t d) { return getAffineDimExpr(unsigned(d), context); });
  if (isa<CascadeOp>(op)) // (whose results a row has one of)
    return true;
  if (!out || findInit(op))
    return false;
  for (Value result : op->getResults())
    if (isStored(l, ops, result))
      found.push_back({result, out.replaceDimsAndSymbols(ArrayRef(places).take_front(out.getNumDims()), {}, rank, out.getNumSymbols()),
                       bytesOf(result)});
  return true;
}

/// The launch index along which neighbours of an access are neighbours in memory; -1: none.
int64_t indexAlong(KernelOp kernel, const LaunchPlan &l, const RowAccess &access) {
  AffineMap strides = getParamStrides(kernel, findParam(access.tensor));
  if (access.map.getNumResults() == 0 || (strides && strides.getResults().back() != getAffineConstantExpr(1, kernel.getContext())))
    return -1;
  for (unsigned d = 0; d < l.indices.size(); ++d)
    if (linearCoefficient(access.map.getResults().back(), d) == 1 &&
        llvm::none_of(access.map.getResults().drop_back(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }))
      return d;
  return -1;
}

AffineExpr addressOf(KernelOp kernel, const RowAccess &access) {
  AffineExpr e = linearAddress(access.map, getTensorShape(access.tensor), getParamStrides(kernel, findParam(access.tensor)));
  return simplifyAffineExpr(e, access.map.getNumDims(), access.map.getNumSymbols());
}

/// How many indices tell elements of an access apart.
int64_t pointsOf(AffineMap map) {
  return llvm::count_if(llvm::seq<unsigned>(0, map.getNumDims()), [&](unsigned d) { return map.isFunctionOfDim(d); });
}

/// Whether few of the points that tiles cover lie outside the row that they cover.
bool hasFewOutside(const LaunchPlan &l, const RowForm &rows, const SizeFacts &facts, const AlignedRowCosts &costs) {
  int64_t length = knownMax(l.extents.getResult(rows.index), facts);
  int64_t covered = int64_t(llvm::alignTo(uint64_t(length + rows.align - 1), uint64_t(l.tiles[rows.index])));
  return (covered - length) * costs.spare <= covered;
}

/// Whether a statement goes with tiles that begin before the first point of index `index`.
bool goesBefore(const LaunchPlan &l, size_t n, int64_t index, ArrayRef<Operation *> ops) {
  Operation *op = ops[l.ops[n]];
  if (isInBlock(op) || isSegmented(op) || getCondition(op))
    return false;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (findGeneralContraction(reduce) || !getStreamedDims(op).empty())
      return false;
  } else if (auto cascade = dyn_cast<CascadeOp>(op)) {
    if (llvm::any_of(llvm::seq(cascade.getNumComponents()), [&](unsigned k) { return findContraction(cascade, k).has_value(); }))
      return false;
  } else if (!isa<ComputeOp>(op) || getYield(op).getCondition()) { // (which asks for each element whether it is stored)
    return false;
  }
  // A tile of the grid is each statement's, and whole.
  ArrayRef<int64_t> kept = ArrayRef<int64_t>(l.dims[n]).take_front(getNumParallel(op));
  return !llvm::is_contained(l.grid, index) || llvm::is_contained(kept, index);
}

/// The form that most of what a launch reads and writes lies in; nothing where something large lies otherwise.
std::optional<RowForm> commonForm(KernelOp kernel, const LaunchPlan &l, ArrayRef<RowAccess> all, const SizeFacts &facts,
                                  const AlignedRowCosts &costs) {
  RowForm best;
  int64_t most = 0;
  for (const RowAccess &access : all) {
    int64_t index = indexAlong(kernel, l, access), points = pointsOf(access.map);
    if (index >= 0 && points > most && access.map.getNumDims() == l.indices.size()) {
      best = {index, addressOf(kernel, access)};
      most = points;
    }
  }
  if (!most)
    return std::nullopt;
  llvm::SmallDenseSet<Value> alike, shared;
  for (const RowAccess &access : all) {
    int64_t vector = kVectorBytes / access.bytes;
    AffineExpr apart = simplifyAffineExpr(addressOf(kernel, access) - best.form, access.map.getNumDims(), access.map.getNumSymbols());
    bool isAlike = indexAlong(kernel, l, access) == best.index && knownDivisor(apart, facts) % vector == 0 &&
                   getParamAlignment(kernel, findParam(access.tensor)) % kVectorBytes == 0;
    if (isAlike) {
      best.align = std::max(best.align, vector);
      alike.insert(access.tensor);
    } else if (pointsOf(access.map) == most) {
      return std::nullopt;
    } else if (access.map.isFunctionOfDim(unsigned(best.index))) {
      shared.insert(access.tensor);
    }
  }
  // What rows share (a gain) is read element by element then, by lanes that lie a vector apart.
  return best.align > 1 && int64_t(shared.size()) * costs.forShared <= int64_t(alike.size()) ? std::optional(best) : std::nullopt;
}

} // namespace

std::optional<RowForm> findRowForm(const LaunchPlan &l, ArrayRef<Operation *> ops, const SizeFacts &facts, const AlignedRowCosts &costs) {
  if (l.ops.empty() || l.unit != Unit::Simt || !l.loops.empty() || findScannedIndex(l, ops))
    return std::nullopt;
  KernelOp kernel = getKernel(ops[l.ops.front()]);
  SmallVector<RowAccess> all;
  for (size_t n = 0; n < l.ops.size(); ++n)
    if (!collectAccesses(l, n, ops, all))
      return std::nullopt;
  std::optional<RowForm> rows = commonForm(kernel, l, all, facts, costs);
  if (!rows)
    return std::nullopt;
  AffineExpr extent = l.extents.getResult(rows->index);
  int64_t length = knownMax(extent, facts);
  if (length <= costs.leastWarps * 32 * rows->align || knownDivisor(extent, facts) % rows->align == 0)
    return std::nullopt;
  // A block, or a cluster, that holds a row has a power of two of points.
  bool onGrid = llvm::is_contained(l.grid, rows->index);
  if (!onGrid && int64_t(llvm::PowerOf2Ceil(uint64_t(length))) - length < rows->align)
    return std::nullopt;
  for (size_t n = 0; n < l.ops.size(); ++n)
    if (!goesBefore(l, n, rows->index, ops))
      return std::nullopt;
  for (const RowAccess &access : all) // (a tile's first point is no multiple of anything)
    if (!llvm::all_of(access.map.getResults(), [&](AffineExpr e) { return linearCoefficient(e, unsigned(rows->index)).has_value(); }))
      return std::nullopt;
  for (unsigned i = 0; i < l.indices.size(); ++i)
    if (int64_t(i) != rows->index && rows->form.isFunctionOfDim(i) && !llvm::is_contained(l.grid, int64_t(i)))
      return std::nullopt;
  return rows;
}

int64_t cutTile(int64_t tile, int64_t max, int64_t least) {
  auto walked = [&](int64_t by) { return int64_t(llvm::alignTo(uint64_t(max), uint64_t(by))); };
  int64_t best = tile;
  for (int64_t half = tile / 2; max > 0 && half >= least; half /= 2)
    if (walked(half) * 8 < walked(best) * 7)
      best = half;
  return best;
}

void cutAlongRows(LaunchPlan &l, ArrayRef<Operation *> ops, const SizeFacts &facts, const AlignedRowCosts &costs) {
  std::optional<RowForm> rows = findRowForm(l, ops, facts, costs);
  if (!rows)
    return;
  LaunchPlan cut = l;
  int64_t &tile = cut.tiles[rows->index], warp = 32 * rows->align;
  for (int64_t index : cut.grid)
    cut.tiles[index] = index == rows->index ? tile : 1;
  while (tile > costs.leastWarps * warp && !hasFewOutside(cut, *rows, facts, costs))
    tile /= 2;
  cut.warps = std::clamp<int64_t>(tile / warp, 1, cut.warps);
  if (hasFewOutside(cut, *rows, facts, costs))
    l = cut;
}

std::optional<RowForm> findAlignedRows(const LaunchPlan &l, ArrayRef<Operation *> ops, const SizeFacts &facts,
                                       const AlignedRowCosts &costs) {
  std::optional<RowForm> rows = findRowForm(l, ops, facts, costs);
  if (!rows || l.producerWarps || l.stages > 1 || l.clamp || l.persistent || l.descending || l.beside || l.peel ||
      (l.cluster > 1 && l.clusterIndex != rows->index))
    return std::nullopt;
  for (unsigned i = 0; i < l.indices.size(); ++i)
    if (int64_t(i) != rows->index && rows->form.isFunctionOfDim(i) && l.tiles[i] != 1)
      return std::nullopt;
  int64_t length = knownMax(l.extents.getResult(rows->index), facts), held = l.tiles[rows->index] * l.cluster;
  // Threads of a tile with less than a vector for each have elements: so wants the plan. What is held is held from the first vector on.
  bool hasVectors = held >= l.warps * 32 * rows->align;
  bool fits = llvm::is_contained(l.grid, rows->index) ? l.cluster == 1 && hasVectors && hasFewOutside(l, *rows, facts, costs)
                                                      : held < length || held >= length + rows->align - 1;
  return fits && l.tiles[rows->index] % rows->align == 0 ? rows : std::nullopt;
}

} // namespace kernelc::te

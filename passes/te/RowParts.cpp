// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/RowParts.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/Sharing.h"
#include "passes/te/Digits.h"
#include "passes/te/Parts.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// What a reduction reads at each point of one of its indices, back to what is in memory before the kernel.
class RowFinder {
public:
  RowFinder(ReduceOp r, unsigned dim, const SizeFacts &facts) : r_(r), dim_(dim), facts_(facts) {}

  /// False where rows and the reduction cannot share a launch.
  bool find() {
    if (!follow(r_, dim_))
      return false;
    bool reduces = false;
    for (auto [op, dim] : members_) {
      reduces |= isa<ReduceOp>(op);
      for (Operation *user : op->getResult(0).getUsers()) {
        Operation *reader = isa<ReadOp>(user) ? statementOf(user) : user;
        if (reader != r_ && !members_.count(reader))
          return false;
      }
    }
    return reduces;
  }

  const llvm::MapVector<Operation *, unsigned> &members() const { return members_; }
  /// The most elements of a row, as a tile has them.
  Count rowElements() const { return most_; }

private:
  static Operation *statementOf(Operation *op) {
    while (!isa<KernelOp>(op->getParentOp()))
      op = op->getParentOp();
    return op;
  }

  /// Takes in what `op` reads at points of its index `dim`.
  bool follow(Operation *op, unsigned dim) {
    bool ok = true;
    op->walk([&](ReadOp read) { ok = ok && (!isMade(read) || take(op, dim, read)); });
    return ok;
  }
  static bool isMade(ReadOp read) { return read.getTensor().getDefiningOp() != nullptr; }

  bool take(Operation *op, unsigned dim, ReadOp read) {
    Operation *producer = read.getTensor().getDefiningOp();
    std::optional<unsigned> made;
    AffineMap map = read.getMapOrIdentity();
    bool plain = isUnchecked(read), reads = false;
    for (auto [position, e] : llvm::enumerate(map.getResults())) {
      auto d = dyn_cast<AffineDimExpr>(e);
      std::optional<unsigned> found = d ? findIndex(op, read.getOperands_()[d.getPosition()]) : std::nullopt;
      plain &= found.has_value();
      for (auto [n, v] : llvm::enumerate(read.getOperands_()))
        reads |= e.isFunctionOfDim(n) && (findIndex(op, v) == dim || !findIndex(op, v));
      if (found == dim && !made && isa<ComputeOp, ReduceOp>(producer) && position < getResultDims(read.getTensor()).size())
        made = getResultDims(read.getTensor())[position];
    }
    if (!reads) // the same for all rows
      return !members_.count(producer);
    if (!plain || !made || !isRow(producer, *made))
      return false;
    auto [at, isNew] = members_.insert({producer, *made});
    return at->second == *made && (!isNew || follow(producer, *made));
  }

  /// Whether `op` makes something of each row, point by point along its index `dim`, and reduces nothing across rows.
  bool isRow(Operation *op, unsigned dim) {
    if (getExtents(op).getResult(dim) != r_.getExtents().getResult(dim_) || dim >= getNumParallel(op) || hasOwnLaunch(op) ||
        !canSplitParallelDim(op, dim, /*endsEarly=*/true) || getYield(op).getCondition())
      return false;
    if (auto compute = dyn_cast<ComputeOp>(op))
      return !compute.getCondition() && !compute.getOutMap();
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce || reduce.isArg() || reduce.getInit() || reduce.getOutMap() || isInTile(reduce) || isSegmented(reduce) ||
        !getStreamedDims(reduce).empty() || findScan(reduce) || findGeneralContraction(reduce) || findColumn(reduce, facts_))
      return false;
    Count elements = 1;
    for (AffineExpr extent : reduce.getExtents().getResults().drop_front(reduce.getNumParallel())) {
      int64_t max = knownMax(extent, facts_);
      if (max < 0)
        return false;
      elements *= int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(1, max))));
    }
    most_ = std::max<int64_t>(int64_t(most_), int64_t(elements));
    return true;
  }

  ReduceOp r_;
  unsigned dim_;
  const SizeFacts &facts_;
  llvm::MapVector<Operation *, unsigned> members_;
  Count most_ = 1;
};

} // namespace

std::optional<RowParts> findRowParts(ReduceOp r, const SizeFacts &facts, const Target &target) {
  const SharingCosts &costs = target.costs->sharing;
  if (r.isArg() || r.getInit() || r.getOutMap() || isInTile(r) || findScan(r) || findGeneralContraction(r) || !getStreamedDims(r).empty())
    return std::nullopt;
  unsigned dims = r.getNumDims();
  Count parallel = 1;
  for (AffineExpr extent : r.getExtents().getResults()) {
    int64_t max = knownMax(extent, facts);
    if (max < 0)
      return std::nullopt;
  }
  for (unsigned d = 0; d < r.getNumParallel(); ++d)
    parallel *= knownMax(r.getExtents().getResult(d), facts);
  for (unsigned d = dims; d-- > r.getNumParallel();) {
    RowFinder finder(r, d, facts);
    if (!finder.find())
      continue;
    Count elements = finder.rowElements(), beside = 1, outer = parallel;
    for (unsigned e = d + 1; e < dims; ++e)
      beside *= int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(1, knownMax(r.getExtents().getResult(e), facts)))));
    for (unsigned e = r.getNumParallel(); e < d; ++e)
      outer *= knownMax(r.getExtents().getResult(e), facts);
    int64_t row = std::max<int64_t>(int64_t(elements), int64_t(beside)), length = knownMax(r.getExtents().getResult(d), facts);
    if (row > target.costs->rows.shortRow)
      return std::nullopt;
    int64_t chunk = costs.rowsElements / row;
    auto partsBy = [&](int64_t rows) { return outer * ceilDiv(Count(length), rows); };
    const int64_t least = costs.rowsBlocks * target.smCount;
    while (chunk > costs.leastRows && partsBy(chunk) < least)
      chunk /= 2;
    if (chunk < costs.leastRows || partsBy(chunk) < least || partsBy(chunk) > costs.mostRowParts * parallel)
      return std::nullopt;
    auto members = llvm::to_vector(finder.members());
    return RowParts{d, length > chunk ? chunk : 0, {members.begin(), members.end()}};
  }
  return std::nullopt;
}

namespace {

Digits digitsOf(const RowParts &parts, AffineExpr extent, const SizeFacts &facts) {
  return digitsOfParts(extent, parts.chunk, knownDivisor(extent, facts) % parts.chunk != 0);
}

/// What is read comes before who reads it, so that its subscripts become digits of which none lies outside.
SmallVector<std::pair<Operation *, unsigned>> membersInOrder(const RowParts &parts) {
  SmallVector<std::pair<Operation *, unsigned>> members;
  if (parts.chunk)
    members = parts.members;
  llvm::sort(members, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
  return members;
}

SmallVector<PartDim> dimsOf(ReduceOp r, const RowParts &parts, const SizeFacts &facts) {
  SmallVector<PartDim> dims;
  for (unsigned d = r.getNumParallel(); d < parts.dim; ++d)
    dims.push_back({d});
  if (parts.chunk)
    dims.push_back({parts.dim, digitsOf(parts, r.getExtents().getResult(parts.dim), facts)});
  return dims;
}

} // namespace

void splitRows(ReduceOp r, const RowParts &parts, const SizeFacts &facts) {
  reduceByParts(r, dimsOf(r, parts, facts), r.getNumParallel()).setInTile(true);
  for (auto [op, dim] : membersInOrder(parts))
    splitParallelDim(op, dim, digitsOf(parts, getExtents(op).getResult(dim), facts));
}

void sketchSplitRows(RewriteSketch &sketch, ReduceOp r, const RowParts &parts, const SizeFacts &facts) {
  for (auto [op, dim] : membersInOrder(parts))
    sketchSplitParallelDim(sketch, op, dim, digitsOf(parts, getExtents(op).getResult(dim), facts));
  sketchParts(sketch, r, dimsOf(r, parts, facts), r.getNumParallel());
}

} // namespace kernelc::te

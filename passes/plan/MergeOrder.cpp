// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/MergeOrder.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Inouts.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/Grouping.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {

MergeOrder::Touched MergeOrder::touchedBy(const LaunchPlan &l) {
  Touched t;
  for (int64_t o : l.ops) {
    ops_[o]->walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (isa<RankedTensorType>(v.getType()))
          t.read.insert(places_.source.lookup(v));
    });
    for (Value v : ops_[o]->getResults())
      t.written.insert(places_.source.lookup(v));
  }
  return t;
}

bool MergeOrder::Touched::conflictsWith(const Touched &o) const {
  auto meets = [](const std::set<int64_t> &a, const std::set<int64_t> &b) {
    return llvm::any_of(a, [&](int64_t s) { return b.count(s); });
  };
  return meets(written, o.read) || meets(written, o.written) || meets(read, o.written);
}

bool MergeOrder::canPass(ArrayRef<LaunchPlan> launches, size_t a, size_t b, bool down) {
  Touched own = touchedBy(launches[down ? a : b]);
  for (size_t n = a + 1; n < b; ++n)
    if (own.conflictsWith(touchedBy(launches[n])))
      return false;
  return true;
}

static bool isParallel(Operation *op, ArrayRef<int64_t> dims, int64_t index) {
  return llvm::is_contained(dims.take_front(getNumParallel(op)), index);
}

bool MergeOrder::isOrdered(const LaunchPlan &l) {
  if (l.grid.empty())
    return false;
  for (size_t n = 0; n < l.ops.size(); ++n) {
    Operation *op = ops_[l.ops[n]];
    if (!llvm::all_of(l.grid, [&](int64_t g) { return isParallel(op, l.dims[n], g); }))
      return false;
    // A block walks what is not on the grid: there a pointwise statement stores each point, and a reduction goes over it.
    if (!isa<ComputeOp>(op) && getNumParallel(op) != l.grid.size())
      return false;
    if (!isOrdered(l, n, op))
      return false;
  }
  return true;
}

bool MergeOrder::isOrdered(const LaunchPlan &l, size_t n, Operation *op) {
  bool ordered = true;
  op->walk([&](ReadOp read) {
    for (size_t m = 0; m < l.ops.size() && ordered; ++m)
      ordered = isOrdered(l, n, m, read);
  });
  for (size_t m = n + 1; m < l.ops.size() && ordered; ++m) // where both write, they must not write the same memory
    for (Value x : op->getResults())
      for (Value y : ops_[l.ops[m]]->getResults())
        ordered &= places_.source.lookup(x) != places_.source.lookup(y) || writeApart(kernel_, facts_, op, ops_[l.ops[m]]);
  return ordered;
}

/// Whether `read` of statement n finds the right values where statement m stands in the same launch.
bool MergeOrder::isOrdered(const LaunchPlan &l, size_t n, size_t m, ReadOp read) {
  Operation *reader = ops_[l.ops[n]], *writer = ops_[l.ops[m]];
  for (Value result : writer->getResults()) {
    if (result == read.getTensor()) // from registers: a block has all points of its tile that are on the grid
      return l.dims[m].size() >= l.grid.size() && (getResultDims(result).size() == l.grid.size() || hasRowAtPoint(l, n, m, read));
    if (places_.source.lookup(result) != places_.source.lookup(read.getTensor()))
      continue;
    size_t before = 0, after = 0;
    if (!memories_.find(read.getTensor(), before) || !memories_.find(result, after) || after < before)
      return false;
    if (n == m || readsApart(read, reader, writer) || isReadBeforeWritten(l.grid, l.dims[n], l.dims[m], read, reader, writer) ||
        isReadAtPointWritten(kernel_, facts_, l.grid, l.dims[n], l.dims[m], read, reader, writer))
      continue;
    return false;
  }
  return true;
}

/// Whether statement n reads the results of statement m, of a whole row in one block, at the points that the same threads have computed.
bool MergeOrder::hasRowAtPoint(const LaunchPlan &l, size_t n, size_t m, ReadOp read) {
  Operation *reader = ops_[l.ops[n]];
  auto maker = dyn_cast<ComputeOp>(ops_[l.ops[m]]);
  // (A statement whose result is not in memory is here only where te-simplify did not inline it, so that it is computed once.)
  if (!maker || !isDefinition(maker) || l.indices.size() != l.grid.size() + 1 || l.dims[m].size() != l.indices.size() ||
      l.dims[n].size() != l.indices.size() || read.getBounds() != BoundsMode::InBounds ||
      (!isa<ComputeOp>(reader) && !isa<ReduceOp>(reader)))
    return false;
  auto isOnGrid = [&](int64_t index) { return llvm::is_contained(l.grid, index); };
  int64_t row = *llvm::find_if_not(l.dims[m], isOnGrid);
  int64_t most = knownMax(l.extents.getResult(row), facts_);
  if (row != l.dims[m].back() || most < 0 || most > target_.costs->rows.largestHeld)
    return false;
  return llvm::all_of(llvm::enumerate(read.getMapOrIdentity().getResults()), [&](auto result) {
    auto d = dyn_cast<AffineDimExpr>(result.value());
    std::optional<unsigned> at = d ? findIndex(reader, read.getOperands_()[d.getPosition()]) : std::nullopt;
    return at && l.dims[n][*at] == l.dims[m][result.index()];
  });
}

bool MergeOrder::mustMeet(const LaunchPlan &a, const LaunchPlan &b) {
  bool found = false;
  for (int64_t o : b.ops)
    ops_[o]->walk([&](ReadOp read) {
      Operation *writer = memories_.findOverwriter(read, ops_[o]);
      found |= writer && writer != ops_[o] && llvm::any_of(a.ops, [&](int64_t w) { return ops_[w] == writer; });
    });
  return found;
}

bool MergeOrder::canBeMadeAgain(Operation *op) {
  if (auto compute = dyn_cast<ComputeOp>(op); compute && (compute.getInit() || compute.getOutMap() || compute.getCondition()))
    return false;
  return llvm::all_of(op->getResults(), [&](Value v) {
    size_t version = 0;
    return !memories_.find(v, version);
  });
}

bool MergeOrder::readsOnlyEarlier(const LaunchPlan &a, const LaunchPlan &merged) {
  Touched all = touchedBy(merged);
  bool apart = true;
  for (int64_t o : a.ops)
    ops_[o]->walk([&](ReadOp read) {
      bool own = llvm::any_of(a.ops, [&](int64_t p) { return read.getTensor().getDefiningOp() == ops_[p]; });
      apart &= own || !all.written.count(places_.source.lookup(read.getTensor()));
    });
  return apart;
}

} // namespace kernelc::te

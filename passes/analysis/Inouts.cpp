// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/Inouts.h"

#include "ir/te/TeShape.h"
#include "passes/index/Domain.h"
#include "passes/index/Meeting.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// Where a statement's point goes, over its dims; null where points choose that.
AffineMap outMapOf(Operation *statement) {
  if (isa<ScatterOp>(statement))
    return {};
  if (auto compute = dyn_cast<ComputeOp>(statement))
    return compute.getOutMapOrIdentity();
  if (auto reduce = dyn_cast<ReduceOp>(statement))
    return reduce.getOutMapOrIdentity();
  if (auto recurrence = dyn_cast<RecurrenceOp>(statement))
    return recurrence.getOutMapOrIdentity();
  return AffineMap::getMultiDimIdentityMap(getNumParallel(statement), statement->getContext());
}

/// The read's subscripts over the dims of `statement`; null where they depend on anything else.
AffineMap subscriptsOf(ReadOp read, Operation *statement) {
  MLIRContext *context = read.getContext();
  AffineMap map = read.getMapOrIdentity();
  SmallVector<AffineExpr> dims, results;
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(statement, v);
    if (!d)
      return {};
    dims.push_back(getAffineDimExpr(*d, context));
  }
  unsigned rank = getExtents(statement).getNumResults();
  for (AffineExpr e : map.getResults())
    results.push_back(simplifyAffineExpr(e.replaceDims(dims), rank, map.getNumSymbols()));
  return AffineMap::get(rank, map.getNumSymbols(), results, context);
}

/// The values of a statement's dims, over the sizes, behind those in `ranges`: at its points, or at all of `extents`, whatever its
/// condition says of them.
void appendRanges(Operation *statement, bool ofExtents, SmallVectorImpl<DimRange> &ranges) {
  SmallVector<DimRange> whole;
  for (AffineExpr e : getExtents(statement).getResults())
    whole.push_back({getAffineConstantExpr(0, e.getContext()), e - 1});
  std::optional<IntegerSet> set = ofExtents ? std::nullopt : getCondition(statement);
  for (auto [d, range] : llvm::enumerate(whole)) {
    ranges.push_back(range);
    if (!set)
      continue;
    // What a condition says stands for the extent's end: all of them hold.
    IndexBounds bounds = findBounds(*set, d, whole);
    if (!bounds.lowers.empty())
      ranges.back().low = bounds.lowers.front();
    if (!bounds.uppers.empty())
      ranges.back().high = bounds.uppers.front();
  }
}

/// Whether e, of sizes, is at most -1 whatever they are; false where that is not seen.
bool isNegative(AffineExpr e) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() < 0;
  SmallVector<AffineExpr> terms{e};
  int64_t constant = 0;
  while (!terms.empty()) {
    AffineExpr t = terms.pop_back_val();
    auto bin = dyn_cast<AffineBinaryOpExpr>(t);
    if (auto c = dyn_cast<AffineConstantExpr>(t)) {
      constant += c.getValue();
    } else if (bin && t.getKind() == AffineExprKind::Add) {
      terms.append({bin.getLHS(), bin.getRHS()});
    } else {
      auto factor = bin && t.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(bin.getRHS()) : AffineConstantExpr();
      // -c times a size; sizes are not negative
      if (!factor || factor.getValue() >= 0 || !isa<AffineSymbolExpr>(bin.getLHS()))
        return false;
    }
  }
  return constant < 0;
}

} // namespace

bool readsApart(ReadOp read, Operation *reader, Operation *writer) {
  AffineMap at = subscriptsOf(read, reader), out = outMapOf(writer);
  // What lies outside is not read with `pad`, and something else with other forms.
  bool plain = read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume || read.getBounds() == BoundsMode::Pad;
  if (!at || !out || !plain || at.getNumResults() != out.getNumResults())
    return false;
  SmallVector<DimRange> ranges;
  appendRanges(reader, /*ofExtents=*/true, ranges); // a tile is loaded where its condition does not hold, too
  unsigned own = ranges.size(), symbols = at.getNumSymbols();
  appendRanges(writer, /*ofExtents=*/false, ranges);
  bool beyond = llvm::any_of(llvm::zip(at.getResults(), out.getResults()), [&](auto pair) {
    AffineExpr distance = std::get<0>(pair) - std::get<1>(pair).shiftDims(out.getNumDims(), own);
    auto isBelow = [&](AffineExpr e) { // everywhere
      AffineExpr most = findExtreme(e, /*high=*/true, ranges);
      return most && isNegative(simplifyAffineExpr(most, 0, symbols));
    };
    return isBelow(distance) || isBelow(-distance);
  });
  if (beyond || getCondition(reader))
    return beyond;
  Meeting meeting(getKernel(reader), {});
  unsigned p = meeting.addPoint(reader), q = meeting.addPoint(writer);
  for (auto [x, y] : llvm::zip(at.getResults(), out.getResults()))
    meeting.addEqual(x, p, y, q);
  return meeting.isEmpty();
}

bool readsOwnPoint(ReadOp read, Operation *writer) {
  AffineMap at = subscriptsOf(read, writer), out = outMapOf(writer);
  if (!at || !out || at.getNumResults() != out.getNumResults() ||
      (read.getBounds() != BoundsMode::InBounds && read.getBounds() != BoundsMode::Assume))
    return false;
  unsigned rank = getExtents(writer).getNumResults();
  return llvm::all_of(llvm::zip(at.getResults(), out.getResults()), [&](auto pair) {
    return simplifyAffineExpr(std::get<0>(pair) - std::get<1>(pair), rank, at.getNumSymbols()) == getAffineConstantExpr(0, at.getContext());
  });
}

bool dependsOn(Operation *later, Operation *op) {
  Block *block = op->getBlock();
  SmallVector<Operation *> work{later};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    bool found = false;
    work.pop_back_val()->walk([&](Operation *inner) {
      for (Value v : inner->getOperands()) {
        Operation *def = v.getDefiningOp();
        found |= def == op;
        if (def && def->getBlock() == block && seen.insert(def).second)
          work.push_back(def);
      }
    });
    if (found)
      return true;
  }
  return false;
}

bool isReadBeforeWritten(ArrayRef<int64_t> grid, ArrayRef<int64_t> readerDims, ArrayRef<int64_t> writerDims, ReadOp read, Operation *reader,
                         Operation *writer) {
  if (isa<ComputeOp>(reader) || !dependsOn(writer, reader))
    return false; // of pointwise statements one thread may write what another one has still to read
  AffineMap at = subscriptsOf(read, reader), out = outMapOf(writer);
  /// The launch index that a subscript is, alone; -1 otherwise.
  auto indexOf = [](AffineExpr e, ArrayRef<int64_t> dims) -> int64_t {
    auto d = dyn_cast<AffineDimExpr>(e);
    return d && d.getPosition() < dims.size() ? dims[d.getPosition()] : -1;
  };
  return at && out && llvm::all_of(grid, [&](int64_t index) {
           return llvm::any_of(llvm::zip(at.getResults(), out.getResults()), [&](auto pair) {
             return indexOf(std::get<0>(pair), readerDims) == index && indexOf(std::get<1>(pair), writerDims) == index;
           });
         });
}

bool writeApart(KernelOp kernel, const SizeFacts &facts, Operation *a, Operation *b) {
  AffineMap ours = outMapOf(a), theirs = outMapOf(b);
  if (!ours || !theirs || ours.getNumResults() != theirs.getNumResults())
    return false;
  Meeting meeting(kernel, facts);
  unsigned p = meeting.addPoint(a), q = meeting.addPoint(b);
  for (auto [x, y] : llvm::zip(ours.getResults(), theirs.getResults()))
    meeting.addEqual(x, p, y, q);
  return meeting.isEmpty();
}

bool isReadAtPointWritten(KernelOp kernel, const SizeFacts &facts, ArrayRef<int64_t> grid, ArrayRef<int64_t> readerDims,
                          ArrayRef<int64_t> writerDims, ReadOp read, Operation *reader, Operation *writer) {
  if (!isa<ComputeOp>(reader) || !isa<ComputeOp>(writer) || readerDims.size() != grid.size() || writerDims.size() != grid.size() ||
      getCondition(reader)) // (a tile is loaded where its condition does not hold, too)
    return false;
  AffineMap at = subscriptsOf(read, reader), out = outMapOf(writer);
  bool plain = read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume || read.getBounds() == BoundsMode::Pad;
  if (!plain || !at || !out || at.getNumResults() != out.getNumResults())
    return false;
  Meeting meeting(kernel, facts);
  unsigned p = meeting.addPoint(reader), q = meeting.addPoint(writer);
  for (auto [x, y] : llvm::zip(at.getResults(), out.getResults()))
    meeting.addEqual(x, p, y, q);
  return llvm::all_of(grid, [&](int64_t index) {
    auto d = llvm::find(readerDims, index), w = llvm::find(writerDims, index);
    return d != readerDims.end() && w != writerDims.end() &&
           meeting.agree(p, unsigned(d - readerDims.begin()), q, unsigned(w - writerDims.begin()));
  });
}

} // namespace kernelc::te

#include "passes/te/Inouts.h"

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

namespace {

Value initOf(Operation *statement) {
  if (auto compute = dyn_cast<ComputeOp>(statement))
    return compute.getInit();
  auto reduce = dyn_cast<ReduceOp>(statement);
  return reduce ? reduce.getInit() : Value();
}

/// Where a statement's point goes, over its dims.
AffineMap outMapOf(Operation *statement) {
  if (auto compute = dyn_cast<ComputeOp>(statement))
    return compute.getOutMapOrIdentity();
  if (auto reduce = dyn_cast<ReduceOp>(statement))
    return reduce.getOutMapOrIdentity();
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

} // namespace

SmallVector<Update> findUpdates(KernelOp kernel) {
  SmallVector<Update> updates;
  for (auto [n, value] : llvm::enumerate(kernel.getBlock().getTerminator()->getOperands())) {
    ArrayRef<int64_t> alias = kernel.getOutAlias();
    if (n >= alias.size() || alias[n] < 0)
      continue;
    Value argument = kernel.getBlock().getArgument(alias[n]), left = value;
    StringRef name = cast<StringAttr>(kernel.getOutNames()[n]).getValue();
    while (left != argument && left.getDefiningOp()) {
      Operation *writer = left.getDefiningOp();
      Value init = initOf(writer);
      updates.push_back({init ? init : argument, writer, name});
      left = updates.back().before;
    }
  }
  return updates;
}

bool readsOwnPoint(ReadOp read, Operation *writer) {
  AffineMap at = subscriptsOf(read, writer), out = outMapOf(writer);
  if (!at || at.getNumResults() != out.getNumResults() ||
      (read.getBounds() != BoundsMode::InBounds && read.getBounds() != BoundsMode::Assume))
    return false;
  unsigned rank = getExtents(writer).getNumResults();
  return llvm::all_of(llvm::zip(at.getResults(), out.getResults()), [&](auto pair) {
    return simplifyAffineExpr(std::get<0>(pair) - std::get<1>(pair), rank, at.getNumSymbols()) ==
           getAffineConstantExpr(0, at.getContext());
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

bool isReadBeforeWritten(const LaunchPlan &l, ArrayRef<Operation *> ops, Operation *reader, const Update &u) {
  if (isa<ComputeOp>(reader) || !dependsOn(u.writer, reader))
    return false; // of pointwise statements one thread may write what another one has still to read
  auto dimsOf = [&](Operation *op) -> ArrayRef<int64_t> {
    for (auto [n, ordinal] : llvm::enumerate(l.ops))
      if (ops[ordinal] == op)
        return l.dims[n];
    return {};
  };
  AffineMap out = outMapOf(u.writer);
  ArrayRef<int64_t> readerDims = dimsOf(reader), writerDims = dimsOf(u.writer);
  /// The launch index that a subscript is, alone; -1 otherwise.
  auto indexOf = [](AffineExpr e, ArrayRef<int64_t> dims) -> int64_t {
    auto d = dyn_cast<AffineDimExpr>(e);
    return d && d.getPosition() < dims.size() ? dims[d.getPosition()] : -1;
  };
  return llvm::all_of(readsOf(reader, u.before), [&](ReadOp read) {
    AffineMap at = subscriptsOf(read, reader);
    return at && llvm::all_of(l.grid, [&](int64_t index) {
      return llvm::any_of(llvm::zip(at.getResults(), out.getResults()), [&](auto pair) {
        return indexOf(std::get<0>(pair), readerDims) == index && indexOf(std::get<1>(pair), writerDims) == index;
      });
    });
  });
}

SmallVector<ReadOp> readsOf(Operation *statement, Value tensor) {
  SmallVector<ReadOp> reads;
  statement->walk([&](ReadOp read) {
    if (read.getTensor() == tensor)
      reads.push_back(read);
  });
  return reads;
}

} // namespace kernelc::te

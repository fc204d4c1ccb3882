// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that share a loop of their launch, over the tiles of an index that one makes points of and another reduces.
#include "passes/analysis/Reduction.h"
#include "passes/lowerings/LaunchEmitter.h"

using namespace mlir;

namespace kernelc {

using namespace te;

/// A reduction over the loop's index: what it has come to is carried.
struct LaunchEmitter::Carried {
  ReduceOp op;
  ArrayRef<int64_t> dims;
  std::optional<Contraction> product;
  Location loc;
  DotForm form{}; ///< the product's
};

bool LaunchEmitter::isCarried(size_t member) {
  auto reduce = dyn_cast<ReduceOp>(ops_[l_.ops[member]]);
  return reduce && llvm::any_of(ArrayRef<int64_t>(l_.dims[member]).drop_front(reduce.getNumParallel()),
                                [&](int64_t i) { return llvm::is_contained(l_.loops, i); });
}

void LaunchEmitter::forget(size_t member) {
  for (Value result : ops_[l_.ops[member]]->getResults())
    c_.results.erase(result);
}

Value LaunchEmitter::startOf(const Carried &sum) {
  ReduceOp op = sum.op;
  BodyToTiles shaper(b_, c_, op, sum.dims);
  auto kept = shaper.shapeOf(sum.dims.take_front(op.getNumParallel()));
  return identityTile(op.getKind(), RankedTensorType::get(kept, op.getResult().getType().getElementType()), sum.loc);
}

LogicalResult LaunchEmitter::emitInLoop(ArrayRef<size_t> members) {
  open_ = l_.loops;
  for (size_t n : members)
    if (auto cascade = dyn_cast<CascadeOp>(ops_[l_.ops[n]])) { // (which a loop has alone, of what is carried)
      SmallVector<size_t> made = llvm::to_vector(llvm::make_filter_range(members, [&](size_t other) { return other != n; }));
      LogicalResult done = emitCascade(cascade, l_.dims[n], made);
      open_ = {};
      llvm::for_each(made, [&](size_t other) { forget(other); });
      return done;
    }
  std::vector<Carried> sums;
  SmallVector<Value> start;
  for (size_t n : members) {
    if (!isCarried(n))
      continue;
    auto op = cast<ReduceOp>(ops_[l_.ops[n]]);
    Carried &sum =
        sums.emplace_back(Carried{op, l_.dims[n], findGeneralContraction(op), NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc())});
    if (sum.product)
      sum.form = dotForm(op, *sum.product, sum.dims);
    start.push_back(startOf(sum));
  }
  std::optional<Values> ends = carryOverRounds(members, sums, start);
  open_ = {};
  clearDataSpans();
  for (size_t n : members)
    if (!isCarried(n))
      forget(n);
  if (!ends)
    return failure();
  for (auto [s, end] : llvm::zip(sums, *ends)) {
    Value out = s.product ? finishSum(s.op, *s.product, s.form, s.dims, end, s.loc) : end;
    BodyToTiles shaper(b_, c_, s.op, s.dims);
    if (!out || failed(finishReduce(s.op, s.dims, out, shaper)))
      return failure();
  }
  return success();
}

std::optional<SmallVector<Value>> LaunchEmitter::carryOverRounds(ArrayRef<size_t> members, ArrayRef<Carried> sums, ValueRange start) {
  // All walk the tiles that can hold a point for one of them.
  const Carried &first = sums.front();
  ReduceOp op = first.op;
  bool walkAlike =
      llvm::all_of(sums, [&](const Carried &s) { return ReduceOp(s.op).getCondition() == op.getCondition() && s.dims == first.dims; });
  bool ok = true;
  if (sums.size() == 1)
    findDataSpans(op, first.dims, l_.loops, first.loc);
  Walk walk{l_.loops, walkAlike ? op.getCondition() : std::nullopt, first.dims, first.loc, l_.loops.size()};
  SmallVector<Value> ends = walkRounds(walk, start, [&](ValueRange carried) {
    SmallVector<Value> next(carried);
    size_t sum = 0;
    for (size_t n : members) {
      if (!ok)
        break;
      if (!isCarried(n)) {
        ok = succeeded(emitStatement(n));
        continue;
      }
      const Carried &s = sums[sum];
      Value v = addTile(s.op, s.product, s.form, s.dims, carried[sum], s.loc);
      ok = bool(v);
      next[sum] = v ? v : next[sum];
      ++sum;
    }
    addToMemory();
    return next;
  });
  return ok ? std::optional(ends) : std::nullopt;
}

Value LaunchEmitter::addTile(ReduceOp op, const std::optional<Contraction> &product, const DotForm &f, ArrayRef<int64_t> dims, Value sum,
                             Location loc) {
  if (product) {
    BodyToTiles body(b_, c_, op, dims);
    return addRound(op, *product, f, dims, body, sum, loc);
  }
  SmallVector<Value> terms = reduceTerms(op, dims, {}, loc);
  if (terms.empty())
    return {};
  SmallVector<int64_t> reduced(dims.drop_front(op.getNumParallel()));
  llvm::sort(reduced);
  Value part = reduceTile(op.getKind(), terms, sum.getType(), reduced, loc)[0];
  return tile::CombineOp::create(b_, loc, sum.getType(), op.getKind(), ValueRange{sum, part}).getResult(0);
}

} // namespace kernelc

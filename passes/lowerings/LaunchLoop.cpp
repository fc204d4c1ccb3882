// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that share a loop of their launch, over the tiles of an index that one makes points of and another reduces.
#include "passes/analysis/Reduction.h"
#include "passes/lowerings/LaunchEmitter.h"

using namespace mlir;

namespace kernelc {

using namespace te;

namespace {

/// A reduction over the loop's index: what it has come to is carried.
struct Carried {
  ReduceOp op;
  ArrayRef<int64_t> dims;
  std::optional<Contraction> product;
  Location loc;
};

} // namespace

LogicalResult LaunchEmitter::emitInLoop(ArrayRef<size_t> members) {
  std::vector<Carried> sums;
  std::vector<DotForm> forms;
  SmallVector<Value> start;
  auto isCarried = [&](size_t n) {
    auto reduce = dyn_cast<ReduceOp>(ops_[l_.ops[n]]);
    return reduce && llvm::any_of(ArrayRef<int64_t>(l_.dims[n]).drop_front(reduce.getNumParallel()),
                                  [&](int64_t i) { return llvm::is_contained(l_.loops, i); });
  };
  open_ = l_.loops;
  auto forget = [&](size_t n) { // what was made in a round is gone
    for (Value result : ops_[l_.ops[n]]->getResults())
      c_.results.erase(result);
  };
  for (size_t n : members)
    if (auto cascade = dyn_cast<CascadeOp>(ops_[l_.ops[n]])) { // (which a loop has alone, of what is carried)
      SmallVector<size_t> made = llvm::to_vector(llvm::make_filter_range(members, [&](size_t other) { return other != n; }));
      LogicalResult done = emitCascade(cascade, l_.dims[n], made);
      open_ = {};
      llvm::for_each(made, forget);
      return done;
    }
  for (size_t n : members) {
    if (!isCarried(n))
      continue;
    auto op = cast<ReduceOp>(ops_[l_.ops[n]]);
    std::string name = nameOf(op);
    Location loc = NameLoc::get(b_.getStringAttr(name), op.getLoc());
    sums.push_back({op, l_.dims[n], findGeneralContraction(op), loc});
    forms.push_back(sums.back().product ? dotForm(op, *sums.back().product, l_.dims[n]) : DotForm());
    BodyToTiles shaper(b_, c_, op, l_.dims[n]);
    auto kept = shaper.shapeOf(ArrayRef<int64_t>(l_.dims[n]).take_front(op.getNumParallel()));
    start.push_back(identityTile(op.getKind(), RankedTensorType::get(kept, op.getResult().getType().getElementType()), loc));
  }
  // All walk the tiles that can hold a point for one of them.
  Carried &first = sums.front();
  bool walkAlike = llvm::all_of(sums, [&](Carried &s) { return s.op.getCondition() == first.op.getCondition() && s.dims == first.dims; });
  bool ok = true;
  if (sums.size() == 1)
    findDataSpans(first.op, first.dims, l_.loops, first.loc);
  SmallVector<Value> ends =
      roundsLoop(l_.loops, walkAlike ? first.op.getCondition() : std::nullopt, first.dims, start, first.loc, l_.loops.size(), nullptr, 1,
                 [&](ValueRange carried) {
                   SmallVector<Value> next(carried);
                   size_t sum = 0;
                   for (size_t n : members) {
                     if (!isCarried(n)) {
                       ok = ok && succeeded(emitStatement(n));
                       continue;
                     }
                     Value v =
                         ok ? addTile(sums[sum].op, sums[sum].product, forms[sum], sums[sum].dims, carried[sum], sums[sum].loc) : Value();
                     ok &= bool(v);
                     next[sum] = v ? v : next[sum];
                     ++sum;
                   }
                   return next;
                 });
  open_ = {};
  clearDataSpans();
  for (size_t n : members)
    if (!isCarried(n))
      forget(n);
  for (auto [s, f, end] : llvm::zip(sums, forms, ends)) {
    Value out = ok && s.product ? finishSum(s.op, *s.product, f, s.dims, end, s.loc) : end;
    BodyToTiles shaper(b_, c_, s.op, s.dims);
    if (!ok || !out || failed(finishReduce(s.op, s.dims, out, shaper)))
      return failure();
  }
  return success();
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

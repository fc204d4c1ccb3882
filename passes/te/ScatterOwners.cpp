// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that ask for their points: all of them, or where indices alone say where points go, those that reach the row. Of
// `y[h + r] += c[h, r]` that are h = row - r for every r.
#include "passes/te/ScatterSorter.h"

using namespace mlir;

namespace kernelc::te {

constexpr int64_t kFewRows = 32;  ///< for so many every point is asked by each
constexpr int64_t kMostAsked = 2; ///< times as many points as there are, that rows may ask

bool ScatterSorter::hasFewRows() {
  int64_t rows = knownMax(rows_, facts_);
  return rows >= 0 && rows <= kFewRows;
}

bool ScatterSorter::findOwners() {
  unsigned rank = carriedDim_.size(), dims = carriedBy_.size();
  auto own = [&](unsigned d) { return dim(rank + d); };
  SmallVector<AffineExpr> solved(dims);
  Count steps = 1; // of so many points that a row asks one reaches it: residue classes are walked alone
  SmallVector<std::pair<AffineExpr, bool>> reaches;
  // Forms in the space of both, in which what is solved has been replaced.
  auto replaced = [&](AffineExpr e) {
    SmallVector<AffineExpr> by;
    for (unsigned d = 0; d < dims; ++d)
      by.push_back(solved[d] ? solved[d] : carriedBy_[d] >= 0 ? dim(carriedBy_[d]) : own(d));
    return simplifyAffineExpr(e.replaceDims(by), rank + dims, symbols_);
  };
  for (auto [r, s] : llvm::enumerate(op_.getSubscripts())) {
    if (carriedDim_[r] >= 0)
      continue;
    SmallVector<Value> leaves = llvm::to_vector_of<Value>(op_.getBlock().getArguments());
    AffineExpr form = affineOf(s, leaves);
    if (leaves.size() > dims)
      return false;
    form = replaced(form);
    // The one that leaves least to be asked: each other one multiplies the points, and a factor picks one of so many of them.
    int64_t found = -1, factor = 0;
    Count most = 0;
    for (unsigned d = 0; d < dims; ++d) {
      std::optional<int64_t> c = carriedBy_[d] < 0 && !solved[d] ? linearCoefficient(form, rank + d) : std::nullopt;
      if (!c || *c == 0)
        continue;
      int64_t length = knownMax(op_.getExtents().getResult(d), facts_);
      Count saved = length < 0 ? Count(Count::kMost) : Count(length) * std::abs(*c);
      if (found < 0 || saved > most)
        found = d, factor = *c, most = saved;
    }
    AffineExpr left = dim(r) - form;
    if (found < 0) {
      reaches.push_back({simplifyAffineExpr(left, rank + dims, symbols_), true});
      continue;
    }
    // left + factor * own == factor * own, which is in 0:extent by steps of the factor.
    AffineExpr scaled = simplifyAffineExpr((left + own(found) * factor) * (factor < 0 ? -1 : 1), rank + dims, symbols_);
    int64_t step = std::abs(factor);
    steps *= step;
    reaches.push_back({scaled, false});
    reaches.push_back({(op_.getExtents().getResult(found) - 1) * step - scaled, false});
    if (step > 1)
      reaches.push_back({scaled % step, true});
    solved[found] = simplifyAffineExpr(scaled.floorDiv(step), rank + dims, symbols_);
    for (AffineExpr &e : solved) // those before may speak of it
      if (e)
        e = simplifyAffineExpr(e.replace(own(found), solved[found]), rank + dims, symbols_);
    for (auto &[e, isEquality] : reaches)
      e = simplifyAffineExpr(e.replace(own(found), solved[found]), rank + dims, symbols_);
  }
  AffineExpr asked = number(1);
  bool asksSome = false;
  for (unsigned d = 0; d < dims; ++d)
    if (carriedBy_[d] < 0 && !solved[d]) {
      asked = asked * op_.getExtents().getResult(d);
      asksSome = true;
    }
  if (!asksSome || llvm::none_of(solved, [](AffineExpr e) { return bool(e); }))
    return false;
  auto asksTooMany = [&](const SizeFacts &facts) -> std::optional<bool> {
    int64_t rows = knownMax(rows_, facts), each = knownMax(asked, facts), points = knownMax(points_, facts);
    if (rows < 0 || each < 0 || points < 0)
      return std::nullopt;
    return Count(rows) * each > Count(points) * kMostAsked * int64_t(steps);
  };
  // Of sizes that are not known there may be more to ask than there are points, but not to walk: what is asked stands in a condition with
  // what is solved, and loops begin and end where conditions do. (Bounds of sizes that vary from call to call are far apart.)
  if (asksTooMany(facts_).value_or(true) && asksTooMany(likely_).value_or(false))
    return false;
  if (std::optional<IntegerSet> set = op_.getCondition())
    for (unsigned i = 0; i < set->getNumConstraints(); ++i)
      reaches.push_back({replaced(set->getConstraint(i)), set->isEq(i)});
  solved_ = std::move(solved);
  reaches_ = std::move(reaches);
  return true;
}

void ScatterSorter::askPoints() {
  AffineMap shape = op_.getShape(), extents = op_.getExtents();
  unsigned rank = shape.getNumResults(), dims = extents.getNumResults();
  bool hasOwners = !solved_.empty();
  SmallVector<AffineExpr> all(shape.getResults()), at; // `at`: the dims of reaches_ as the sum has them
  SmallVector<Attribute> names;
  for (unsigned r = 0; r < rank; ++r) {
    at.push_back(dim(r));
    names.push_back(carriedDim_[r] < 0 ? Attribute(b.getStringAttr("r" + std::to_string(r))) : op_.getIndices()[carriedDim_[r]]);
  }
  SmallVector<int64_t> place(dims, -1); // of what is asked, in the sum
  for (unsigned d = 0; d < dims; ++d) {
    bool isAsked = carriedBy_[d] < 0 && !(hasOwners && solved_[d]);
    at.push_back(isAsked ? dim(all.size()) : number(0));
    if (!isAsked)
      continue;
    place[d] = int64_t(all.size());
    all.push_back(extents.getResult(d));
    names.push_back(op_.getIndices()[d]);
  }
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (auto [e, isEquality] : reaches_) {
    constraints.push_back(e.replaceDims(at));
    equalities.push_back(isEquality);
  }
  auto where = constraints.empty() ? IntegerSetAttr() : IntegerSetAttr::get(IntegerSet::get(all.size(), symbols_, constraints, equalities));
  auto sum = ReduceOp::create(b, loc(), cast<RankedTensorType>(op_.getResult().getType()), *op_.getKind(), b.getArrayAttr(names), rank,
                              over(all), where, startOf(), AffineMapAttr(), AffineMapAttr(), op_.getNameAttr());
  fill(sum.getBody(), all.size(), [&](ValueRange indices) {
    SmallVector<Value> original(dims);
    for (unsigned d = 0; d < dims; ++d)
      original[d] = place[d] >= 0        ? indices[place[d]]
                    : carriedBy_[d] >= 0 ? indices[carriedBy_[d]]
                                         : value(solved_[d].replaceDims(at), indices);
    SmallVector<Value> roots{op_.getValue()};
    llvm::append_range(roots, conditionRoots(true));
    llvm::append_range(roots, conditionRoots(false));
    if (hasOwners) { // the domain says the rest
      IRMapping body = cloneBody(roots, original);
      Value counts = op_.getYield().getCondition() ? body.lookupOrDefault(op_.getYield().getCondition()) : Value();
      YieldOp::create(b, loc(), ValueRange{body.lookupOrDefault(op_.getValue())}, counts);
      return;
    }
    llvm::append_range(roots, op_.getSubscripts());
    IRMapping body = cloneBody(roots, original);
    Value counts = both(conditionAt(original, body, true), conditionAt(original, body, false));
    for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
      if (carriedDim_[r] < 0)
        counts = both(counts, compare(arith::CmpIPredicate::eq, body.lookupOrDefault(s), indices[r]));
    YieldOp::create(b, loc(), ValueRange{body.lookupOrDefault(op_.getValue())}, counts);
  });
  replaceBy(sum);
}

} // namespace kernelc::te

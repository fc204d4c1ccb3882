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

namespace {

/// Which points reach a row, by the subscripts that indices alone say. Forms stand in the space of both: the result's dims, then those of
/// the scatter's domain.
class OwnerSearch {
public:
  OwnerSearch(ScatterOp op, ArrayRef<int64_t> carriedBy, const SizeFacts &facts, unsigned symbols)
      : op_(op), carriedBy_(carriedBy), facts_(facts), rank_(op.getShape().getNumResults()), symbols_(symbols), solved_(carriedBy.size()) {}

  /// Takes in that subscript `s` is dim `r` of the result; false where more than indices say what it is.
  bool takeIn(unsigned r, Value s) {
    SmallVector<Value> leaves = llvm::to_vector_of<Value>(op_.getBlock().getArguments());
    AffineExpr form = affineOf(s, leaves);
    if (leaves.size() > carriedBy_.size())
      return false;
    form = replaced(form);
    AffineExpr left = getAffineDimExpr(r, op_.getContext()) - form;
    auto [found, factor] = chooseSolved(form);
    if (found < 0)
      reaches_.push_back({simplify(left), true});
    else
      solve(unsigned(found), factor, left);
    return true;
  }
  /// Takes in that the scatter's condition holds.
  void takeInCondition() {
    if (std::optional<IntegerSet> set = op_.getCondition())
      for (unsigned i = 0; i < set->getNumConstraints(); ++i)
        reaches_.push_back({replaced(set->getConstraint(i)), set->isEq(i)});
  }

  bool isAsked(unsigned d) const { return carriedBy_[d] < 0 && !solved_[d]; }
  /// How many points a row asks; nothing where subscripts leave no index to ask, or solve none.
  std::optional<AffineExpr> asked() {
    auto dims = llvm::seq<unsigned>(0, carriedBy_.size());
    if (llvm::none_of(dims, [&](unsigned d) { return isAsked(d); }) || llvm::none_of(solved_, [](AffineExpr e) { return bool(e); }))
      return std::nullopt;
    AffineExpr points = getAffineConstantExpr(1, op_.getContext());
    for (unsigned d : dims)
      if (isAsked(d))
        points = points * op_.getExtents().getResult(d);
    return points;
  }
  /// Of the points that a row asks, one in so many can reach it (`y[3 * i]`: every third), and only those are walked.
  Count steps() const { return steps_; }
  SmallVector<AffineExpr> takeSolved() { return std::move(solved_); }
  SmallVector<std::pair<AffineExpr, bool>> takeReaches() { return std::move(reaches_); }

private:
  AffineExpr own(unsigned d) { return getAffineDimExpr(rank_ + d, op_.getContext()); }
  AffineExpr simplify(AffineExpr e) { return simplifyAffineExpr(e, rank_ + carriedBy_.size(), symbols_); }
  /// A form over the domain, in the space of both, with what is solved in place of it.
  AffineExpr replaced(AffineExpr e) {
    SmallVector<AffineExpr> by;
    for (unsigned d = 0; d < carriedBy_.size(); ++d)
      by.push_back(solved_[d] ? solved_[d] : carriedBy_[d] >= 0 ? getAffineDimExpr(carriedBy_[d], op_.getContext()) : own(d));
    return simplify(e.replaceDims(by));
  }
  /// The index, and its factor in `form`, that leaves least to be asked: each other one multiplies the points, and a factor picks one of
  /// so many of them. -1: there is none.
  std::pair<int64_t, int64_t> chooseSolved(AffineExpr form) {
    std::pair<int64_t, int64_t> found{-1, 0};
    Count most = 0;
    for (unsigned d = 0; d < carriedBy_.size(); ++d) {
      std::optional<int64_t> c = isAsked(d) ? linearCoefficient(form, rank_ + d) : std::nullopt;
      if (!c || *c == 0)
        continue;
      int64_t length = knownMax(op_.getExtents().getResult(d), facts_);
      Count saved = length < 0 ? Count(Count::kMost) : Count(length) * std::abs(*c);
      if (found.first < 0 || saved > most) {
        found = {d, *c};
        most = saved;
      }
    }
    return found;
  }
  /// Solves `left` == 0 for index `d`, whose factor in it is -`factor`.
  void solve(unsigned d, int64_t factor, AffineExpr left) {
    // left + factor * own == factor * own, which is in 0:extent by steps of the factor.
    AffineExpr scaled = simplify((left + own(d) * factor) * (factor < 0 ? -1 : 1));
    int64_t step = std::abs(factor);
    steps_ *= step;
    reaches_.push_back({scaled, false});
    reaches_.push_back({(op_.getExtents().getResult(d) - 1) * step - scaled, false});
    if (step > 1)
      reaches_.push_back({scaled % step, true});
    solved_[d] = simplify(scaled.floorDiv(step));
    for (AffineExpr &e : solved_) // those before may speak of it
      if (e)
        e = simplify(e.replace(own(d), solved_[d]));
    for (auto &[e, isEquality] : reaches_)
      e = simplify(e.replace(own(d), solved_[d]));
  }

  ScatterOp op_;
  ArrayRef<int64_t> carriedBy_;
  const SizeFacts &facts_;
  unsigned rank_, symbols_;
  SmallVector<AffineExpr> solved_;
  SmallVector<std::pair<AffineExpr, bool>> reaches_; ///< what must be 0 or more, or with `true` 0
  Count steps_ = 1;
};

} // namespace

bool ScatterSorter::findOwners() {
  OwnerSearch search(op_, carriedBy_, facts_, symbols_);
  for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
    if (carriedDim_[r] < 0 && !search.takeIn(r, s))
      return false;
  std::optional<AffineExpr> asked = search.asked();
  if (!asked)
    return false;
  auto asksTooMany = [&](const SizeFacts &facts) -> std::optional<bool> {
    int64_t rows = knownMax(rows_, facts), each = knownMax(*asked, facts), points = knownMax(points_, facts);
    if (rows < 0 || each < 0 || points < 0)
      return std::nullopt;
    return Count(rows) * each > Count(points) * kMostAsked * int64_t(search.steps());
  };
  // Of sizes that are not known there may be more to ask than there are points, but not to walk: what is asked stands in a condition with
  // what is solved, and loops begin and end where conditions do. (Bounds of sizes that vary from call to call are far apart.)
  if (asksTooMany(facts_).value_or(true) && asksTooMany(likely_).value_or(false))
    return false;
  search.takeInCondition();
  solved_ = search.takeSolved();
  reaches_ = search.takeReaches();
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Meeting.h"

#include "ir/te/TeShape.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"

using namespace mlir;

namespace kernelc::te {

Meeting::Meeting(unsigned sizes, const SizeFacts &facts) : facts_(facts) {
  points_.emplace_back(); // number 0: of the sizes alone
  extents_.emplace_back();
  for (unsigned i = 0; i < sizes; ++i) {
    sizes_.push_back(variable());
    int64_t max = i < facts.max.size() ? facts.max[i] : -1;
    int64_t div = i < facts.div.size() ? std::max<int64_t>(1, facts.div[i]) : 1;
    Form low = sizes_.back(), high{max};
    low[0] -= max >= div ? div : max >= 0 ? 1 : 0; // (a positive multiple)
    inequalities_.push_back(low);
    if (max < 0)
      continue;
    add(high, sizes_.back(), -1);
    inequalities_.push_back(high);
  }
}

Meeting::Meeting(KernelOp kernel, const SizeFacts &facts) : Meeting(kernel.getNumSizes(), facts) {
  for (Attribute a : kernel.getRequirements()) {
    IntegerSet set = cast<IntegerSetAttr>(a).getValue();
    for (auto [e, isEquality] : llvm::zip(set.getConstraints(), set.getEqFlags()))
      (isEquality ? equalities_ : inequalities_).push_back(linear(e, 0));
  }
}

void Meeting::add(Form &to, const Form &what, int64_t times) {
  if (to.size() < what.size())
    to.resize(what.size());
  for (auto [sum, c] : llvm::zip(to, what)) // (the shorter one ends it)
    sum += c * times;
}

Meeting::Form Meeting::variable() {
  Form f(++numVariables_ + 1);
  f.back() = 1;
  return f;
}

Meeting::Form Meeting::linear(AffineExpr e, unsigned p) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return {c.getValue()};
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return sizes_[s.getPosition()];
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return points_[p][d.getPosition()];
  auto bin = cast<AffineBinaryOpExpr>(e);
  auto constant = dyn_cast<AffineConstantExpr>(bin.getRHS());
  constexpr int64_t kLargest = int64_t(1) << 40; // products of which with sizes of a text stay far from the ends of 64 bits
  if (constant && std::abs(constant.getValue()) > kLargest)
    constant = {};
  if (e.getKind() == AffineExprKind::Add) {
    Form sum = linear(bin.getLHS(), p);
    add(sum, linear(bin.getRHS(), p), 1);
    return sum;
  }
  if (e.getKind() == AffineExprKind::Mul && constant) {
    Form product;
    add(product, linear(bin.getLHS(), p), constant.getValue());
    return product;
  }
  auto [it, isNew] = known_.try_emplace({e, e.isSymbolicOrConstant() ? 0 : p});
  if (!isNew)
    return it->second;
  Form result = variable();
  if (constant && constant.getValue() > 0) {
    // c q <= x <= c q + c - 1
    int64_t c = constant.getValue();
    Form quotient = result, x = linear(bin.getLHS(), p), low, high{c - 1};
    if (e.getKind() == AffineExprKind::CeilDiv)
      add(x, {1}, c - 1);
    add(low, x, 1);
    add(low, quotient, -c);
    add(high, quotient, c);
    add(high, x, -1);
    inequalities_.push_back(low);
    inequalities_.push_back(high);
    if (e.getKind() == AffineExprKind::Mod)
      result = low;
  } else if (e.isSymbolicOrConstant()) { // not linear in the sizes, but one number in each launch, for which bounds may be known
    if (isa<AffineSymbolExpr>(bin.getLHS()) && isa<AffineSymbolExpr>(bin.getRHS()))
      inequalities_.push_back(result); // of sizes, which are not negative
    if (int64_t max = knownMax(e, facts_); max >= 0) {
      Form high{max};
      add(high, result, -1);
      inequalities_.push_back(high);
    }
  } else if (e.getKind() == AffineExprKind::Mul) {
    boundProduct(result, bin.getLHS(), bin.getRHS(), p);
  }
  return known_[{e, e.isSymbolicOrConstant() ? 0 : p}] = result;
}

/// Bounds the product of a dim x, below n, and a number y that does not change with x and is not negative: 0 <= x y <= (n - 1) y.
void Meeting::boundProduct(const Form &product, AffineExpr x, AffineExpr y, unsigned p) {
  auto dim = dyn_cast<AffineDimExpr>(x);
  int64_t extent = dim && y.isSymbolicOrConstant() && isNonNegative(y) ? extents_[p][dim.getPosition()] : -1;
  if (extent < 1)
    return;
  Form high;
  add(high, linear(y, 0), extent - 1);
  add(high, product, -1);
  inequalities_.push_back(product);
  inequalities_.push_back(high);
}

unsigned Meeting::addPoint(ArrayRef<AffineExpr> extents) {
  unsigned p = points_.size();
  points_.emplace_back();
  extents_.emplace_back();
  for (AffineExpr extent : extents) {
    auto number = dyn_cast_or_null<AffineConstantExpr>(extent);
    extents_[p].push_back(number && number.getValue() < (int64_t(1) << 20) ? number.getValue() : -1);
    points_[p].push_back(variable());
    if (!extent)
      continue;
    Form below = linear(extent, 0);
    inequalities_.push_back(points_[p].back());
    add(below, points_[p].back(), -1);
    below[0] -= 1;
    inequalities_.push_back(below);
  }
  return p;
}

unsigned Meeting::addPoint(Operation *statement, bool inDomain) {
  unsigned p = addPoint(getExtents(statement).getResults());
  if (std::optional<IntegerSet> set = inDomain ? getCondition(statement) : std::nullopt)
    for (auto [e, isEquality] : llvm::zip(set->getConstraints(), set->getEqFlags()))
      (isEquality ? equalities_ : inequalities_).push_back(linear(e, p));
  return p;
}

void Meeting::addEqual(AffineExpr a, unsigned p, AffineExpr b, unsigned q) {
  if (!a || !b)
    return;
  Form difference = linear(a, p);
  add(difference, linear(b, q), -1);
  equalities_.push_back(difference);
}

void Meeting::addAtLeastZero(AffineExpr e, unsigned p) { inequalities_.push_back(linear(e, p)); }

bool Meeting::agree(unsigned p, unsigned i, unsigned q, unsigned j) const {
  Form less{-1}, more{-1}; // p_i <= q_j - 1; p_i >= q_j + 1
  add(less, points_[q][j], 1);
  add(less, points_[p][i], -1);
  add(more, points_[p][i], 1);
  add(more, points_[q][j], -1);
  return isEmptyWith(less) && isEmptyWith(more);
}

/// The points of what is 0, and of what is at least 0; `more` too, unless it is empty.
static presburger::IntegerPolyhedron polyhedronOf(unsigned variables, ArrayRef<SmallVector<int64_t, 16>> equalities,
                                                  ArrayRef<SmallVector<int64_t, 16>> inequalities, ArrayRef<int64_t> more) {
  presburger::IntegerPolyhedron set(presburger::PresburgerSpace::getSetSpace(variables));
  auto row = [&](ArrayRef<int64_t> f) { // the constant comes last there
    SmallVector<int64_t> r(variables + 1);
    for (size_t v = 1; v < f.size(); ++v)
      r[v - 1] = f[v];
    r.back() = f[0];
    return r;
  };
  for (const auto &f : equalities)
    set.addEquality(row(f));
  for (const auto &f : inequalities)
    set.addInequality(row(f));
  if (!more.empty())
    set.addInequality(row(more));
  return set;
}

bool Meeting::isEmptyWith(const Form &atLeastZero) const {
  return polyhedronOf(numVariables_, equalities_, inequalities_, atLeastZero).isIntegerEmpty();
}

bool Meeting::isNeverNegative(AffineExpr e, unsigned p) {
  Form less{-1};
  add(less, linear(e, p), -1);
  presburger::IntegerPolyhedron set = polyhedronOf(numVariables_, equalities_, inequalities_, less);
  if (presburger::Simplex(set).isEmpty())
    return true;
  // Only a quotient of indices needs whole numbers for a proof, and these take a search: each read asks.
  bool hasQuotient = false;
  e.walk([&](AffineExpr sub) {
    bool divides = llvm::is_contained({AffineExprKind::FloorDiv, AffineExprKind::CeilDiv, AffineExprKind::Mod}, sub.getKind());
    hasQuotient |= divides && !sub.isSymbolicOrConstant();
  });
  return hasQuotient && set.isIntegerEmpty();
}

} // namespace kernelc::te

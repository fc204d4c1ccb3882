// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Domain.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace kernelc::te {

AffineExpr findExtreme(AffineExpr e, bool high, ArrayRef<DimRange> ranges) {
  if (e.isSymbolicOrConstant())
    return e;
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    const DimRange &r = ranges[d.getPosition()];
    return high ? r.high : r.low;
  }
  auto bin = cast<AffineBinaryOpExpr>(e);
  auto constant = dyn_cast<AffineConstantExpr>(bin.getRHS());
  switch (e.getKind()) {
  case AffineExprKind::Add: {
    AffineExpr x = findExtreme(bin.getLHS(), high, ranges), y = findExtreme(bin.getRHS(), high, ranges);
    return x && y ? x + y : AffineExpr();
  }
  case AffineExprKind::Mul: {
    if (!constant) { // of one value in all points
      AffineExpr least = bin.getRHS().isSymbolicOrConstant() ? findExtreme(bin.getLHS(), false, ranges) : AffineExpr();
      return least && least == findExtreme(bin.getLHS(), true, ranges) ? least * bin.getRHS() : AffineExpr();
    }
    AffineExpr x = findExtreme(bin.getLHS(), constant.getValue() >= 0 ? high : !high, ranges);
    return x ? x * constant : AffineExpr();
  }
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    if (!constant || constant.getValue() <= 0)
      return {};
    AffineExpr x = findExtreme(bin.getLHS(), high, ranges);
    if (!x)
      return {};
    return e.getKind() == AffineExprKind::FloorDiv ? x.floorDiv(constant) : x.ceilDiv(constant);
  }
  case AffineExprKind::Mod:
    if (!constant || constant.getValue() <= 0)
      return {};
    if (AffineExpr least = findExtreme(bin.getLHS(), false, ranges); least && least == findExtreme(bin.getLHS(), true, ranges))
      return least % constant;
    return getAffineConstantExpr(high ? constant.getValue() - 1 : 0, e.getContext());
  default: return {};
  }
}

bool isSeparable(AffineExpr e, const llvm::BitVector &among) {
  llvm::BitVector seen(among.size());
  bool ok = true;
  e.walk([&](AffineExpr sub) {
    if (sub.getKind() == AffineExprKind::Mod && !sub.isSymbolicOrConstant())
      for (unsigned d : among.set_bits())
        ok &= !sub.isFunctionOfDim(d);
    auto d = dyn_cast<AffineDimExpr>(sub);
    if (!d || d.getPosition() >= among.size() || !among[d.getPosition()])
      return;
    ok &= !seen[d.getPosition()];
    seen.set(d.getPosition());
  });
  return ok;
}

namespace {

/// Solves e + rest >= 0 for `dim`; `e` is over the set's dims, `rest` over the ranges'.
void solve(AffineExpr e, AffineExpr rest, unsigned dim, ArrayRef<DimRange> ranges, IndexBounds &bounds) {
  AffineExpr holder;
  for (auto [term, scale] : splitTerms(e)) {
    AffineExpr t = term * scale;
    if (t.isFunctionOfDim(dim)) {
      if (holder)
        return;
      holder = t;
      continue;
    }
    AffineExpr most = findExtreme(t, /*high=*/true, ranges);
    if (!most)
      return;
    rest = rest + most;
  }
  // factor * g(dim) + rest >= 0, g rising.
  int64_t factor = 1;
  if (auto mul = dyn_cast<AffineBinaryOpExpr>(holder); mul && holder.getKind() == AffineExprKind::Mul) {
    auto c = dyn_cast<AffineConstantExpr>(mul.getRHS());
    if (!c || c.getValue() == 0)
      return;
    factor = c.getValue();
    holder = mul.getLHS();
  }
  if (factor == std::numeric_limits<int64_t>::min())
    return;
  // g >= -floor(rest / factor), or g <= floor(rest / -factor)
  AffineExpr limit = rest.floorDiv(std::abs(factor));
  if (factor > 0)
    limit = -limit;
  if (isa<AffineDimExpr>(holder)) {
    (factor > 0 ? bounds.lowers : bounds.uppers).push_back(limit);
    return;
  }
  auto div = dyn_cast<AffineBinaryOpExpr>(holder);
  auto c = div ? dyn_cast<AffineConstantExpr>(div.getRHS()) : AffineConstantExpr();
  if (!c || c.getValue() <= 0 || holder.getKind() != AffineExprKind::FloorDiv)
    return;
  // x floordiv c >= l  <=>  x >= c l;  x floordiv c <= u  <=>  x <= c u + c - 1.
  if (factor > 0)
    solve(div.getLHS(), -(limit * c), dim, ranges, bounds);
  else
    solve(-div.getLHS(), limit * c + (c.getValue() - 1), dim, ranges, bounds);
}

} // namespace

IndexBounds findBounds(IntegerSet set, unsigned dim, ArrayRef<DimRange> ranges) {
  IndexBounds bounds;
  AffineExpr zero = getAffineConstantExpr(0, set.getContext());
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    AffineExpr e = set.getConstraint(i);
    if (!e.isFunctionOfDim(dim))
      continue;
    solve(e, zero, dim, ranges, bounds);
    if (set.isEq(i))
      solve(-e, zero, dim, ranges, bounds);
  }
  return bounds;
}

bool hasPointEverywhere(std::optional<IntegerSet> set, AffineMap extents, unsigned parallel, const SizeFacts &facts) {
  MLIRContext *context = extents.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  unsigned dims = extents.getNumResults();
  if (!llvm::all_of(extents.getResults().drop_front(parallel), [&](AffineExpr e) { return knownPositive(e, facts); }))
    return false;
  if (!set)
    return true;
  SmallVector<DimRange> ranges;
  for (AffineExpr e : extents.getResults())
    ranges.push_back({zero, e - 1});
  auto isNeverNegative = [&](AffineExpr e) {
    AffineExpr least = findExtreme(simplifyAffineExpr(e, dims, extents.getNumSymbols()), /*high=*/false, ranges);
    return least && knownPositive(simplifyAffineExpr(least + 1, 0, extents.getNumSymbols()), facts);
  };
  std::optional<unsigned> walked;
  SmallVector<AffineExpr> lowers, uppers;
  for (unsigned i = 0; i < set->getNumConstraints(); ++i) {
    AffineExpr e = set->getConstraint(i);
    std::optional<unsigned> dim;
    for (unsigned d = parallel; d < dims; ++d)
      if (e.isFunctionOfDim(d)) {
        if (dim)
          return false;
        dim = d;
      }
    if (set->isEq(i) || (dim && walked && *dim != *walked))
      return false;
    if (!dim) {
      if (!isNeverNegative(e))
        return false;
      continue;
    }
    walked = dim;
    std::optional<int64_t> step = linearCoefficient(e, *dim);
    AffineExpr rest = e.replace(getAffineDimExpr(*dim, context), zero);
    if (step == 1)
      lowers.push_back(-rest);
    else if (step == -1)
      uppers.push_back(rest);
    else
      return false;
  }
  if (!walked)
    return true;
  lowers.push_back(zero);
  uppers.push_back(extents.getResult(*walked) - 1);
  return llvm::all_of(lowers,
                      [&](AffineExpr low) { return llvm::all_of(uppers, [&](AffineExpr up) { return isNeverNegative(up - low); }); });
}

IntegerSet intersect(std::optional<IntegerSet> a, IntegerSet b) {
  if (!a)
    return b;
  SmallVector<AffineExpr> constraints(a->getConstraints());
  SmallVector<bool> equalities(a->getEqFlags());
  for (unsigned i = 0; i < b.getNumConstraints(); ++i) {
    bool known = false;
    for (unsigned k = 0; k < a->getNumConstraints(); ++k)
      known |= a->getConstraint(k) == b.getConstraint(i) && (a->isEq(k) || a->isEq(k) == b.isEq(i));
    if (known)
      continue;
    constraints.push_back(b.getConstraint(i));
    equalities.push_back(b.isEq(i));
  }
  return IntegerSet::get(b.getNumDims(), b.getNumSymbols(), constraints, equalities);
}

IntegerSet select(IntegerSet set, ArrayRef<unsigned> which) {
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (unsigned i : which) {
    constraints.push_back(set.getConstraint(i));
    equalities.push_back(set.isEq(i));
  }
  return IntegerSet::get(set.getNumDims(), set.getNumSymbols(), constraints, equalities);
}

IntegerSet withoutDim(IntegerSet set, unsigned d) {
  SmallVector<AffineExpr> to;
  for (unsigned other = 0; other < set.getNumDims(); ++other)
    to.push_back(getAffineDimExpr(other > d ? other - 1 : other, set.getContext()));
  return set.replaceDimsAndSymbols(to, {}, set.getNumDims() - 1, set.getNumSymbols());
}

void dropDim(ReduceOp reduce, unsigned d) {
  Builder b(reduce.getContext());
  SmallVector<Attribute> names(reduce.getIndices().getValue());
  names.erase(names.begin() + d);
  reduce.setIndicesAttr(b.getArrayAttr(names));
  reduce.setExtents(reduce.getExtents().dropResult(d));
  if (std::optional<IntegerSet> set = reduce.getCondition())
    reduce.setCondition(withoutDim(*set, d));
  reduce.getBlock().eraseArgument(d);
}

} // namespace kernelc::te

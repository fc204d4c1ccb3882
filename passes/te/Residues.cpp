// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Residues.h"

#include <numeric>

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// `e` with what a divisor divides taken out of its quotients: (6 * x + y) floordiv 2 is 3 * x + y floordiv 2.
AffineExpr takeOutOfQuotients(AffineExpr e) {
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return e;
  AffineExpr lhs = takeOutOfQuotients(bin.getLHS()), rhs = takeOutOfQuotients(bin.getRHS());
  auto divisor = dyn_cast<AffineConstantExpr>(rhs);
  if (e.getKind() != AffineExprKind::FloorDiv || !divisor || divisor.getValue() <= 0)
    return getAffineBinaryOpExpr(e.getKind(), lhs, rhs);
  AffineExpr whole = getAffineConstantExpr(0, e.getContext()), left = whole;
  for (auto [term, factor] : splitTerms(lhs))
    if (factor % divisor.getValue() == 0)
      whole = whole + term * (factor / divisor.getValue());
    else
      left = left + term * factor;
  return whole + left.floorDiv(divisor);
}

/// x and m of a form `x mod m`, however it is written.
std::optional<std::pair<AffineExpr, int64_t>> findRemainder(AffineExpr e, unsigned dims, unsigned symbols) {
  auto divisorOf = [](AffineExpr x) {
    auto c = dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(x).getRHS());
    return c ? c.getValue() : 0;
  };
  if (e.getKind() == AffineExprKind::Mod && divisorOf(e) > 1)
    return std::pair(cast<AffineBinaryOpExpr>(e).getLHS(), divisorOf(e));
  for (auto [term, factor] : splitTerms(e)) { // x - (x floordiv m) * m
    int64_t m = term.getKind() == AffineExprKind::FloorDiv ? divisorOf(term) : 0;
    if (m <= 1 || factor != -m)
      continue;
    AffineExpr x = cast<AffineBinaryOpExpr>(term).getLHS();
    if (simplifyAffineExpr(e + term * m - x, dims, symbols) == 0)
      return std::pair(x, m);
  }
  return std::nullopt;
}

/// x with x * value mod modulus == 1; the two have no common divisor.
int64_t inverse(int64_t value, int64_t modulus) {
  for (int64_t x = 1; x < modulus; ++x)
    if ((value % modulus + modulus) % modulus * x % modulus == 1)
      return x;
  return 0; // modulo 1
}

std::optional<Residue> findResidue(ReduceOp reduce, unsigned constraint) {
  constexpr int64_t kMost = 64; // steps of a window; an inverse is searched by trying
  IntegerSet set = *reduce.getCondition();
  unsigned dims = reduce.getNumDims(), symbols = set.getNumSymbols();
  auto remainder = set.isEq(constraint) ? findRemainder(set.getConstraint(constraint), dims, symbols) : std::nullopt;
  if (!remainder || remainder->second > kMost)
    return std::nullopt;
  auto [form, modulus] = *remainder;
  Residue found{constraint, dims, dims, modulus, 0, 0, form};
  for (unsigned d = 0; d < dims; ++d) {
    if (!form.isFunctionOfDim(d))
      continue;
    std::optional<int64_t> step = linearCoefficient(form, d);
    unsigned &own = d < reduce.getNumParallel() ? found.parallel : found.reduced;
    if (!step)
      return std::nullopt;
    found.rest = found.rest.replace(getAffineDimExpr(d, form.getContext()), getAffineConstantExpr(0, form.getContext()));
    if (*step % modulus == 0)
      continue; // any of its points
    if (own != dims)
      return std::nullopt;
    own = d;
    (d < reduce.getNumParallel() ? found.a : found.b) = *step;
  }
  found.rest = simplifyAffineExpr(found.rest, 0, symbols);
  if (found.parallel == dims || !found.rest.isSymbolicOrConstant())
    return std::nullopt;
  return found;
}

/// A residue that no reduced dim decides: the condition and quotients say so. Nothing where they do already.
ReduceOp takeOutPhase(ReduceOp reduce, const Residue &residue) {
  IntegerSet set = *reduce.getCondition();
  AffineExpr phase = getAffineDimExpr(residue.parallel, reduce.getContext());
  AffineExpr plain = (phase * residue.a + residue.rest) % residue.modulus;
  SmallVector<AffineExpr> constraints(set.getConstraints());
  if (constraints[residue.constraint] == plain)
    return {};
  constraints[residue.constraint] = plain;
  reduce.setCondition(IntegerSet::get(set.getNumDims(), set.getNumSymbols(), constraints, set.getEqFlags()));
  reduce.walk([](ReadOp read) {
    AffineMap map = read.getMapOrIdentity();
    SmallVector<AffineExpr> subscripts = llvm::map_to_vector(map.getResults(), takeOutOfQuotients);
    read.setMapAttr(AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), subscripts, map.getContext())));
  });
  return reduce;
}

} // namespace

SmallVector<Residue> findResidues(ReduceOp reduce) {
  SmallVector<Residue> found;
  if (std::optional<IntegerSet> set = reduce.getCondition())
    for (unsigned i = 0; i < set->getNumConstraints(); ++i)
      if (std::optional<Residue> residue = findResidue(reduce, i))
        found.push_back(*residue);
  return found;
}

ReduceOp walkResidue(ReduceOp reduce, const Residue &residue) {
  if (residue.reduced == reduce.getNumDims())
    return takeOutPhase(reduce, residue);
  BlockArgument index = reduce.getBlock().getArgument(residue.reduced), phase = reduce.getBlock().getArgument(residue.parallel);
  if (!llvm::all_of(index.getUsers(), llvm::IsaPred<ReadOp>))
    return {};
  OpBuilder b(reduce);
  unsigned dims = reduce.getNumDims(), symbols = reduce.getExtents().getNumSymbols();
  int64_t common = std::gcd(residue.b, residue.modulus), step = residue.modulus / common;
  // b r = -(a i + rest) modulo the modulus: where `common` divides both sides, r = first(i) modulo the step.
  auto firstOf = [&](AffineExpr i) {
    AffineExpr form = i * residue.a + residue.rest;
    int64_t factor = step == 1 ? 0 : (step - inverse(residue.b / common, step)) % step;
    return (form.floorDiv(common) * factor) % step;
  };
  auto replaced = [&](AffineExpr e, unsigned dim, AffineExpr by) { return takeOutOfQuotients(e.replace(b.getAffineDimExpr(dim), by)); };

  SmallVector<AffineExpr> extents(reduce.getExtents().getResults()), constraints;
  SmallVector<bool> equalities;
  AffineExpr extent = extents[residue.reduced], i = b.getAffineDimExpr(residue.parallel), own = b.getAffineDimExpr(residue.reduced);
  extents[residue.reduced] = extent.ceilDiv(step);
  AffineExpr point = own * step + firstOf(i);
  IntegerSet set = *reduce.getCondition();
  for (unsigned n = 0; n < set.getNumConstraints(); ++n) {
    AffineExpr e = set.getConstraint(n);
    if (n == residue.constraint) {
      if (common == 1)
        continue;
      e = (i * residue.a + residue.rest) % common; // whether there are any
    } else if (e.isFunctionOfDim(residue.reduced)) {
      e = replaced(e, residue.reduced, point);
    }
    constraints.push_back(e);
    equalities.push_back(set.isEq(n));
  }
  if (step > 1) {
    constraints.push_back(extent - 1 - point);
    equalities.push_back(false);
  }
  IntegerSetAttr where =
      constraints.empty() ? IntegerSetAttr() : IntegerSetAttr::get(IntegerSet::get(dims, symbols, constraints, equalities));
  auto created = ReduceOp::create(b, reduce.getLoc(), reduce.getResult().getType(), reduce.getKind(), reduce.getIndicesAttr(),
                                  reduce.getParallel(), AffineMap::get(0, symbols, extents, b.getContext()), where, reduce.getInit(),
                                  reduce.getOutMapAttr(), reduce.getShapeAttr(), reduce.getNameAttr());
  copyHints(reduce, created);
  created.getBody().takeBody(reduce.getBody());
  for (Operation *user : llvm::make_early_inc_range(index.getUsers())) {
    auto read = cast<ReadOp>(user);
    AffineMap map = read.getMapOrIdentity();
    unsigned n = map.getNumDims();
    SmallVector<Value> operands(read.getOperands_());
    SmallVector<AffineExpr> subscripts(map.getResults());
    for (auto [d, operand] : llvm::enumerate(read.getOperands_()))
      if (operand == index)
        for (AffineExpr &e : subscripts)
          e = replaced(e, d, b.getAffineDimExpr(d) * step + firstOf(b.getAffineDimExpr(n)));
    operands.push_back(phase);
    b.setInsertionPoint(read);
    AffineMap subscript = AffineMap::get(n + 1, map.getNumSymbols(), subscripts, b.getContext());
    auto after = ReadOp::create(b, read.getLoc(), read.getResult().getType(), read.getTensor(), operands, AffineMapAttr::get(subscript),
                                read.getBoundsAttr(), read.getPadding());
    read.replaceAllUsesWith(after.getResult());
    read.erase();
  }
  reduce.replaceAllUsesWith(created.getResult());
  reduce.erase();
  return created;
}

} // namespace kernelc::te

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

/// Rewrites quotients in `e`: terms that the divisor divides are written outside, (6 * x + y) floordiv 2 as 3 * x + y floordiv 2.
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

/// A reduction that walks its index by the step at which points of one residue class lie.
class ResidueWalk {
public:
  ResidueWalk(ReduceOp reduce, const Residue &residue)
      : reduce_(reduce), residue_(residue), common_(std::gcd(residue.b, residue.modulus)), step_(residue.modulus / common_) {}

  ReduceOp run() {
    OpBuilder b(reduce_);
    unsigned symbols = reduce_.getExtents().getNumSymbols();
    SmallVector<AffineExpr> extents(reduce_.getExtents().getResults());
    extents[residue_.reduced] = extents[residue_.reduced].ceilDiv(step_);
    auto created = ReduceOp::create(b, reduce_.getLoc(), reduce_.getResult().getType(), reduce_.getKind(), reduce_.getIndicesAttr(),
                                    reduce_.getParallel(), AffineMap::get(0, symbols, extents, b.getContext()), condition(),
                                    reduce_.getInit(), reduce_.getOutMapAttr(), reduce_.getShapeAttr(), reduce_.getNameAttr());
    copyHints(reduce_, created);
    created.getBody().takeBody(reduce_.getBody());
    BlockArgument index = created.getBlock().getArgument(residue_.reduced), phase = created.getBlock().getArgument(residue_.parallel);
    for (Operation *user : llvm::make_early_inc_range(index.getUsers()))
      moveRead(cast<ReadOp>(user), index, phase);
    reduce_.replaceAllUsesWith(created.getResult());
    reduce_.erase();
    return created;
  }

private:
  AffineExpr dim(unsigned d) const { return getAffineDimExpr(d, ReduceOp(reduce_).getContext()); }

  /// b r = -(a i + rest) modulo the modulus: where `common` divides both sides, r = first(i) modulo the step.
  AffineExpr firstOf(AffineExpr i) const {
    AffineExpr form = i * residue_.a + residue_.rest;
    int64_t factor = step_ == 1 ? 0 : (step_ - inverse(residue_.b / common_, step_)) % step_;
    return (form.floorDiv(common_) * factor) % step_;
  }
  AffineExpr replaced(AffineExpr e, unsigned d, AffineExpr by) const { return takeOutOfQuotients(e.replace(dim(d), by)); }

  /// The reduction's, of points of the walk.
  IntegerSetAttr condition() {
    SmallVector<AffineExpr> constraints;
    SmallVector<bool> equalities;
    AffineExpr i = dim(residue_.parallel), point = dim(residue_.reduced) * step_ + firstOf(i);
    IntegerSet set = *reduce_.getCondition();
    for (unsigned n = 0; n < set.getNumConstraints(); ++n) {
      AffineExpr e = set.getConstraint(n);
      if (n == residue_.constraint) {
        if (common_ == 1)
          continue;
        e = (i * residue_.a + residue_.rest) % common_; // whether there are any
      } else if (e.isFunctionOfDim(residue_.reduced)) {
        e = replaced(e, residue_.reduced, point);
      }
      constraints.push_back(e);
      equalities.push_back(set.isEq(n));
    }
    if (step_ > 1) {
      constraints.push_back(reduce_.getExtents().getResult(residue_.reduced) - 1 - point);
      equalities.push_back(false);
    }
    return constraints.empty()
               ? IntegerSetAttr()
               : IntegerSetAttr::get(IntegerSet::get(reduce_.getNumDims(), reduce_.getExtents().getNumSymbols(), constraints, equalities));
  }

  /// Gives a read at the index a subscript of the walk's, with the phase.
  void moveRead(ReadOp read, Value index, Value phase) {
    OpBuilder b(read);
    AffineMap map = read.getMapOrIdentity();
    unsigned n = map.getNumDims();
    SmallVector<Value> operands(read.getOperands_());
    SmallVector<AffineExpr> subscripts(map.getResults());
    for (auto [d, operand] : llvm::enumerate(read.getOperands_()))
      if (operand == index)
        for (AffineExpr &e : subscripts)
          e = replaced(e, d, dim(d) * step_ + firstOf(dim(n)));
    operands.push_back(phase);
    AffineMap subscript = AffineMap::get(n + 1, map.getNumSymbols(), subscripts, b.getContext());
    auto after = ReadOp::create(b, read.getLoc(), read.getResult().getType(), read.getTensor(), operands, AffineMapAttr::get(subscript),
                                read.getBoundsAttr(), read.getPadding());
    read.replaceAllUsesWith(after.getResult());
    read.erase();
  }

  ReduceOp reduce_;
  const Residue &residue_;
  int64_t common_, step_;
};

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
  BlockArgument index = reduce.getBlock().getArgument(residue.reduced);
  return llvm::all_of(index.getUsers(), llvm::IsaPred<ReadOp>) ? ResidueWalk(reduce, residue).run() : ReduceOp();
}

} // namespace kernelc::te

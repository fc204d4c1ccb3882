// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/WindowWeights.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/index/Strides.h"
#include "passes/plan/GroupWindows.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A sum over a window, with questions about its reads and its size.
class WindowSum {
public:
  WindowSum(const Repacking &of, ReduceOp reduce) : of_(of), reduce_(reduce), along_(std::max(1u, reduce.getNumParallel()) - 1) {
    if (ArrayRef<int64_t> thin = getStreamedDims(reduce); thin.size() == 1 && isWindowOfGroups(reduce, thin[0], of.facts, of.target))
      along_ = unsigned(thin[0]); // a thread's vector of results, whichever way they lie
    while (along_ > 0 && hasOnePoint(along_))
      --along_;
  }

  /// Whether it is a plain sum of few terms, which reads no long rows.
  bool isShort() const {
    if (reduce_.isArg() || reduce_.getInit() || reduce_.getOutMap() || reduce_.getCondition() || reduce_.getYield().getCondition() ||
        reduce_.getNumParallel() == 0 ||
        !llvm::all_of(getStreamedDims(reduce_), [&](auto d) { return hasOnePoint(unsigned(d)) || isOfGroups(); }))
      return false;
    Count terms = 1;
    for (unsigned d = reduce_.getNumParallel(); d < reduce_.getNumDims(); ++d)
      terms *= most(reduce_.getExtents().getResult(d));
    return terms <= Count(of_.target.costs->pointwise.windowTerms);
  }
  /// Whether neighbours along the last result index are vectors in what `read` reads, and `read` tells more results apart than `than`.
  bool isBesideMore(ReadOp read, ReadOp than) const {
    llvm::BitVector own = results(read), other = results(than);
    LinearRead linear = lineariseSubscripts(reduce_, read, &of_.facts);
    unsigned last = linear.coefficients.size() - 1;
    if (isOfGroups()) // (each channel is multiplied by all weights of its group)
      return !own[along_] && other[along_];
    return own[along_] && own != other && !other.test(own) && isAlone(linear, last) && hasVectorRows(read, of_.facts);
  }
  /// The subscript of `read` that is the last result index, if it is not the fastest in memory.
  std::optional<unsigned> slowSubscript(ReadOp read) const {
    LinearRead linear = lineariseSubscripts(reduce_, read, &of_.facts);
    SmallVector<unsigned> at = linear.subscriptsWith(along_);
    if (at.size() != 1 || !isAlone(linear, at[0]))
      return std::nullopt;
    Count behind = 1;
    for (AffineExpr extent : getTensorShape(read.getTensor()).getResults().drop_front(at[0] + 1))
      behind *= most(extent);
    return behind > Count(1) ? std::optional(at[0]) : std::nullopt;
  }
  double work() const {
    Count points = 1;
    for (AffineExpr extent : reduce_.getExtents().getResults())
      points *= most(extent);
    return double(points);
  }

private:
  bool isOfGroups() const { return isWindowOfGroups(reduce_, along_, of_.facts, of_.target); }
  bool hasOnePoint(unsigned d) const { return knownMax(reduce_.getExtents().getResult(d), of_.facts) == 1; }
  Count most(AffineExpr extent) const { return countOf(extent, of_.facts); }
  /// The result indices, of those with several points, that `read` depends on.
  llvm::BitVector results(ReadOp read) const {
    llvm::BitVector dims = findSupport(read.getResult(), reduce_.getNumDims());
    for (unsigned d = 0; d < dims.size(); ++d)
      if (d >= reduce_.getNumParallel() || hasOnePoint(d))
        dims.reset(d);
    return dims;
  }
  /// Whether subscript r is the last result index, alone or with a group's index times its extent; indices of one point do not count.
  bool isAlone(const LinearRead &linear, unsigned r) const {
    if (linear.others[r] || linear.coefficients[r][along_] != 1 || linear.rest[r] != getAffineConstantExpr(0, reduce_.getContext()))
      return false;
    return llvm::all_of(llvm::enumerate(linear.coefficients[r]), [&](auto c) {
      return c.index() == along_ || c.value() == 0 || hasOnePoint(unsigned(c.index())) ||
             (c.index() < along_ && Count(c.value()) == most(reduce_.getExtents().getResult(along_)));
    });
  }

  const Repacking &of_;
  mutable ReduceOp reduce_; // (whose accessors are not const)
  unsigned along_;          ///< the last result index of several points
};

} // namespace

std::optional<FactorCopy> findWindowWeights(const Repacking &of, ReduceOp reduce, ReadOp read) {
  WindowSum sum(of, reduce);
  if (!sum.isShort() || !(readsZeroOutside(read) || isUnchecked(read)))
    return std::nullopt;
  std::optional<unsigned> at = sum.slowSubscript(read);
  bool isBeside = false;
  reduce->walk([&](ReadOp other) { isBeside |= other != read && sum.isBesideMore(other, read); });
  if (!at || !isBeside || !of.policy.windows.isMet(sum.work(), of.elementsOf(read.getTensor())))
    return std::nullopt;
  return FactorCopy{*at};
}

} // namespace kernelc::te

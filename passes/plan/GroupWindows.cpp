// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/GroupWindows.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {
namespace {

int64_t bytesOf(ReadOp read) { return read.getResult().getType().getIntOrFloatBitWidth() / 8; }

class GroupWindow {
public:
  GroupWindow(ReduceOp reduce, const SizeFacts &facts, const PointwiseCosts &costs) : reduce_(reduce), facts_(facts), costs_(costs) {}

  /// The largest extent of dim `d`.
  Count most(unsigned d) const { return countOf(reduce_.getExtents().getResult(d), facts_); }
  /// The points of dims `begin` to `end`.
  Count points(unsigned begin, unsigned end) const {
    Count n = 1;
    for (unsigned d = begin; d < end; ++d)
      n *= most(d);
    return n;
  }
  /// Whether a subscript of `x` has the few channels of each group beside the next one's, and another one is a window; `isLast`: that of
  /// channels lies along memory, else one that has neighbours of the last result index.
  bool isOfFewChannels(ReadOp x, bool isLast) const {
    LinearRead linear = lineariseSubscripts(reduce_, x, &facts_);
    unsigned last = linear.coefficients.size() - 1, parallel = reduce_.getNumParallel();
    bool isWindow = false;
    std::optional<unsigned> channels;
    for (auto [r, row] : llvm::enumerate(linear.coefficients)) {
      if (linear.others[r])
        return false;
      auto hasResult = [&](llvm::function_ref<bool(int64_t)> by) {
        return llvm::any_of(llvm::enumerate(row),
                            [&](auto other) { return other.index() < parallel && other.value() && by(other.value()); });
      };
      for (auto [d, by] : llvm::enumerate(row)) {
        if (d < parallel || by == 0)
          continue;
        bool isFew = by == 1 && most(d) * Count(bytesOf(x)) < Count(costs_.groupRow) &&
                     hasResult([&, d = d](int64_t step) { return step > 0 && Count(step) == most(d); });
        if (isFew && (r == last) == isLast)
          channels = r;
        else
          isWindow |= hasResult([](int64_t) { return true; });
      }
    }
    return isWindow && channels && (isLast || linear.coefficients[last][parallel - 1] != 0);
  }

private:
  mutable ReduceOp reduce_; // (whose accessors are not const)
  const SizeFacts &facts_;
  const PointwiseCosts &costs_;
};

} // namespace

bool isWindowOfGroups(ReduceOp reduce, unsigned columns, const SizeFacts &facts, const Target &target) {
  const PointwiseCosts &costs = target.costs->pointwise;
  unsigned parallel = reduce.getNumParallel(), dims = reduce.getNumDims();
  SmallVector<ReadOp> x, f;
  reduce->walk([&](ReadOp read) { (findSupport(read.getResult(), dims)[columns] ? f : x).push_back(read); });
  auto isHalf = [](ReadOp read) { return isa<Float16Type, BFloat16Type>(read.getResult().getType()); };
  if (columns >= parallel || x.size() != 1 || f.size() != 1 || !isHalf(x[0]) || !isHalf(f[0]))
    return false;
  GroupWindow window(reduce, facts, costs);
  const bool isLast = columns + 1 == parallel;
  int64_t vector = kVectorBytes / bytesOf(f[0]), least = vector / 2;
  Count terms = window.points(parallel, dims), results = window.points(0, parallel), own = window.most(columns);
  Count threads = terms < Count(costs.shortWindow) ? results : results / Count(vector); // (as WindowPlan.cpp counts them)
  if (own > Count(isLast ? costs.groupResults : vector) || knownDivisor(reduce.getExtents().getResult(columns), facts) % least ||
      terms > Count(costs.windowTerms) || threads < Count(costs.windowThreads * target.smCount))
    return false;
  Count weights = 1; // (te-repack copies them into another order)
  for (unsigned d : findSupport(f[0].getResult(), dims).set_bits())
    weights *= window.most(d);
  return window.points(0, dims) >= std::max(Count(costs.windowWork), weights * Count(costs.windowReuse)) &&
         window.isOfFewChannels(x[0], isLast);
}

} // namespace kernelc::te

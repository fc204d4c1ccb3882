// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/IndexForm.h"

#include <algorithm>

#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/index/IndexArithmetic.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// The index values computed from `index` that something else than index arithmetic takes on the way to `value`.
SmallVector<Value> findTaken(Value index, Value value) {
  llvm::SetVector<Operation *> leading; // to `value`, in the same body
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == index.getParentBlock(); };
  (void)getBackwardSlice(value, &leading, options);
  SmallVector<Value> work{index}, taken;
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    bool isTaken = false;
    for (Operation *user : v.getUsers()) {
      if (!leading.contains(user))
        continue;
      if (user->getNumResults() != 1 || !user->getResult(0).getType().isIndex())
        isTaken = true;
      else if (seen.insert(user).second)
        work.push_back(user->getResult(0));
    }
    if (isTaken)
      taken.push_back(v);
  }
  return taken;
}

/// How many values 0, 1, .. a form has where d0 is below `extent`; `extent` where it has others.
int64_t countValues(AffineExpr form, int64_t extent) {
  int64_t points = 0;
  for (int64_t i = 0; i < extent; ++i) {
    auto value = dyn_cast<AffineConstantExpr>(form.replaceDims(getAffineConstantExpr(i, form.getContext())));
    if (!value || value.getValue() < 0)
      return extent;
    points = std::max(points, value.getValue() + 1);
  }
  return points;
}

} // namespace

IndexForm indexFormOf(ReduceOp reduce, Value value, unsigned d) {
  IndexForm whole{getAffineDimExpr(0, reduce.getContext()), reduce.getExtents().getResult(d), {}}, found;
  auto extent = dyn_cast<AffineConstantExpr>(whole.extent);
  constexpr int64_t kMost = 64; // values that are tried
  if (!extent || extent.getValue() > kMost)
    return whole;
  Value index = reduce.getBlock().getArgument(d);
  for (Value v : findTaken(index, value)) {
    SmallVector<Value> leaves{index};
    AffineExpr form = affineOf(v, leaves);
    if (leaves.size() > 1 || (found.form && found.form != form))
      return whole;
    found.form = form;
    found.values.push_back(v);
  }
  int64_t points = found.form ? countValues(found.form, extent.getValue()) : extent.getValue();
  if (points >= extent.getValue())
    return whole;
  found.extent = getAffineConstantExpr(points, reduce.getContext());
  return found;
}

} // namespace kernelc::te

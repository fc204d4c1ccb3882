// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/WrittenBox.h"

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"

using namespace mlir;

namespace kernelc::te {

AffineMap findWrittenBox(Value tensor) {
  // (Without a condition the statement writes all points of its extents, so that these are no more than the shape.)
  auto compute = tensor.getDefiningOp<ComputeOp>();
  if (!compute || !compute.getShape() || compute.getCondition() || compute.getYield().getCondition() || compute.getInit() ||
      compute.getPartial() || llvm::any_of(tensor.getUsers(), [&](Operation *user) { return findInit(user) == tensor; }))
    return {};
  SmallVector<AffineExpr> box(compute.getShape()->getResults());
  for (auto [end, at] : llvm::zip(box, compute.getOutMapOrIdentity().getResults()))
    if (auto d = dyn_cast<AffineDimExpr>(at))
      end = compute.getExtents().getResult(d.getPosition());
  AffineMap written = AffineMap::get(0, compute.getShape()->getNumSymbols(), box, tensor.getContext());
  return written == *compute.getShape() ? AffineMap() : written;
}

bool mayLeave(ReadOp read, AffineMap box) {
  Operation *op = read->getParentOp();
  while (!isDomainOp(op))
    op = op->getParentOp();
  bool isProved = read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume;
  if (isProved && !isa<RecurrenceOp>(op) && !getCondition(op) && !getYield(op).getCondition())
    return false;
  AffineMap extents = getExtents(op), map = read.getMapOrIdentity();
  SmallVector<DimRange> ranges; // (an operand that is no index of the statement is data, and may be anything)
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(op, v);
    ranges.push_back(d ? DimRange{getAffineConstantExpr(0, box.getContext()), extents.getResult(*d) - 1} : DimRange());
  }
  auto isNatural = [&](AffineExpr e) {
    auto c = e ? dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e, 0, box.getNumSymbols())) : AffineConstantExpr();
    return c && c.getValue() >= 0;
  };
  return !llvm::all_of(llvm::zip(map.getResults(), box.getResults()), [&](auto at) {
    AffineExpr low = findExtreme(std::get<0>(at), false, ranges), high = findExtreme(std::get<0>(at), true, ranges);
    return low && high && isNatural(low) && isNatural(std::get<1>(at) - 1 - high);
  });
}

} // namespace kernelc::te

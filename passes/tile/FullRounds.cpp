// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/FullRounds.h"

#include "passes/index/Affine.h"
#include "passes/index/Domain.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

FullRounds::FullRounds(FuncOp func, scf::ForOp loop, unsigned d) : func_(func), loop_(loop), d_(d), forms_(func, loop.getInductionVar()) {
  SmallVector<Value> work{loop.getUpperBound()};
  while (!work.empty()) {
    Value end = work.pop_back_val();
    if (auto least = end.getDefiningOp<arith::MinSIOp>())
      work.append({least.getLhs(), least.getRhs()});
    else
      ends_.push_back(forms_.formOf(end));
  }
}

bool FullRounds::isNatural(AffineExpr form) {
  auto number = dyn_cast<AffineConstantExpr>(forms_.simplify(form));
  return number && number.getValue() >= 0;
}

bool FullRounds::isNeverNegative(AffineExpr form) {
  form = forms_.simplify(form);
  DenseMap<AffineExpr, AffineExpr> least;
  for (unsigned d = 0; d < func_.getRank(); ++d) {
    std::optional<int64_t> factor = te::linearCoefficient(form, 1 + d);
    if (!factor)
      return false;
    least[forms_.placeOf(d)] = getAffineConstantExpr(*factor < 0 && d != d_ ? func_.getTiles()[d] - 1 : 0, func_.getContext());
  }
  // x - c * (offset + place) is least at the last point before the end.
  std::optional<int64_t> step = te::linearCoefficient(form, 0), place = te::linearCoefficient(form, 1 + d_);
  if (!step || *step > 0 || (func_.getTiles()[d_] > 1 && *step != *place))
    return false;
  if (*step == 0)
    return isNatural(form.replace(least));
  return llvm::any_of(ends_, [&](AffineExpr end) {
    least[getAffineDimExpr(0, func_.getContext())] = end - 1;
    return isNatural(form.replace(least));
  });
}

bool FullRounds::alwaysHolds(arith::CmpIOp condition) {
  AffineExpr rest = forms_.excessOf(condition);
  return rest && forms_.simplify(rest).isFunctionOfDim(0) && isNeverNegative(rest);
}

bool FullRounds::staysInside(LoadOp load) {
  if (!load.getIndexTiles().empty() || func_.getCluster() > 1 || load.getOffsets()[d_] != loop_.getInductionVar())
    return false;
  // Points along the other indices lie before their ends, because no tile sticks out or because of the load's mask.
  te::SizeFacts facts{func_.getSizeDiv(), func_.getSizeMax()};
  SmallVector<te::DimRange> ranges;
  SmallVector<AffineExpr> points;
  for (unsigned d = 0; d < func_.getRank(); ++d) {
    AffineExpr extent = func_.getExtent(d);
    int64_t divisor = te::knownDivisor(extent, facts);
    bool ends = d == d_ || llvm::is_contained(load.getMask(), int64_t(d)) || (divisor && divisor % func_.getTiles()[d] == 0);
    ranges.push_back({getAffineConstantExpr(0, func_.getContext()), ends ? extent - 1 : AffineExpr()});
    AffineExpr at = forms_.formOf(load.getOffsets()[d]);
    points.push_back(load.getResult().getType().getDimSize(d) > 1 ? at + forms_.placeOf(d) : at);
  }
  AffineMap shape = func_.getArgShape(cast<BlockArgument>(load.getBase()).getArgNumber());
  return llvm::all_of(llvm::zip(load.getMap().getResults(), shape.getResults()), [&](auto pair) {
    auto [subscript, size] = pair;
    AffineExpr low = te::findExtreme(subscript, /*high=*/false, ranges), high = te::findExtreme(subscript, /*high=*/true, ranges);
    return low && isNatural(low) && ((high && isNatural(size - 1 - high)) || isNeverNegative(size - 1 - subscript.replaceDims(points)));
  });
}

} // namespace kernelc

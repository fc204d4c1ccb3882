// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/FullRounds.h"

#include "mlir/IR/Matchers.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

FullRounds::FullRounds(FuncOp func, scf::ForOp loop, unsigned d) : func_(func), loop_(loop), d_(d) {
  SmallVector<Value> work{loop.getUpperBound()};
  while (!work.empty()) {
    Value end = work.pop_back_val();
    if (auto least = end.getDefiningOp<arith::MinSIOp>())
      work.append({least.getLhs(), least.getRhs()});
    else
      ends_.push_back(formOf(end));
  }
}

AffineExpr FullRounds::placeOf(unsigned dim) { return getAffineDimExpr(1 + dim, func_.getContext()); }

AffineExpr FullRounds::formOf(Value v) {
  if (v == loop_.getInductionVar())
    return getAffineDimExpr(0, func_.getContext());
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return getAffineConstantExpr(constant.getSExtValue(), func_.getContext());
  if (auto apply = v.getDefiningOp<ApplyOp>()) {
    SmallVector<AffineExpr> operands = llvm::map_to_vector(apply.getOperands_(), [&](Value o) { return formOf(o); });
    return apply.getMap().getResult(0).replaceDims(operands);
  }
  if (auto sum = v.getDefiningOp<arith::AddIOp>())
    return formOf(sum.getLhs()) + formOf(sum.getRhs());
  if (auto difference = v.getDefiningOp<arith::SubIOp>())
    return formOf(difference.getLhs()) - formOf(difference.getRhs());
  if (auto product = v.getDefiningOp<arith::MulIOp>()) {
    AffineExpr x = formOf(product.getLhs()), y = formOf(product.getRhs());
    if (x.isSymbolicOrConstant() || y.isSymbolicOrConstant())
      return x * y;
  }
  auto known = others_.try_emplace(v, 1 + func_.getRank() + others_.size());
  return getAffineDimExpr(known.first->second, func_.getContext());
}

AffineExpr FullRounds::elementOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto splat = dyn_cast_or_null<SplatOp>(op))
    return formOf(splat.getInput());
  if (auto spread = dyn_cast_or_null<BroadcastOp>(op))
    return elementOf(spread.getInput());
  if (auto index = dyn_cast_or_null<IndexOp>(op)) {
    AffineExpr at = formOf(index.getOffset());
    return func_.getTiles()[index.getDim()] > 1 ? at + placeOf(index.getDim()) : at;
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    return splat ? getAffineConstantExpr(splat.getSplatValue<APInt>().getSExtValue(), func_.getContext()) : AffineExpr();
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  AffineExpr x = elementOf(op->getOperand(0)), y = elementOf(op->getOperand(1));
  if (!x || !y || (isa<arith::MulIOp>(op) && !x.isSymbolicOrConstant() && !y.isSymbolicOrConstant()))
    return {};
  return isa<arith::AddIOp>(op) ? x + y : isa<arith::SubIOp>(op) ? x - y : x * y;
}

AffineExpr FullRounds::simplify(AffineExpr form) {
  return simplifyAffineExpr(form, 1 + func_.getRank() + others_.size(), func_.getSizes().size());
}

bool FullRounds::isNatural(AffineExpr form) {
  auto number = dyn_cast<AffineConstantExpr>(simplify(form));
  return number && number.getValue() >= 0;
}

bool FullRounds::isNeverNegative(AffineExpr form) {
  form = simplify(form);
  DenseMap<AffineExpr, AffineExpr> least;
  for (unsigned d = 0; d < func_.getRank(); ++d) {
    std::optional<int64_t> factor = te::linearCoefficient(form, 1 + d);
    if (!factor)
      return false;
    least[placeOf(d)] = getAffineConstantExpr(*factor < 0 && d != d_ ? func_.getTiles()[d] - 1 : 0, func_.getContext());
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
  auto type = dyn_cast<RankedTensorType>(condition.getLhs().getType());
  if (!type || !type.getElementType().isIndex())
    return false;
  AffineExpr x = elementOf(condition.getLhs()), y = elementOf(condition.getRhs());
  if (!x || !y)
    return false;
  AffineExpr rest;
  switch (condition.getPredicate()) {
  case arith::CmpIPredicate::sge: rest = x - y; break;
  case arith::CmpIPredicate::sgt: rest = x - y - 1; break;
  case arith::CmpIPredicate::sle: rest = y - x; break;
  case arith::CmpIPredicate::slt: rest = y - x - 1; break;
  default: return false;
  }
  return simplify(rest).isFunctionOfDim(0) && isNeverNegative(rest);
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
    AffineExpr at = formOf(load.getOffsets()[d]);
    points.push_back(load.getResult().getType().getDimSize(d) > 1 ? at + placeOf(d) : at);
  }
  AffineMap shape = func_.getArgShape(cast<BlockArgument>(load.getBase()).getArgNumber());
  return llvm::all_of(llvm::zip(load.getMap().getResults(), shape.getResults()), [&](auto pair) {
    auto [subscript, size] = pair;
    AffineExpr low = te::findExtreme(subscript, /*high=*/false, ranges), high = te::findExtreme(subscript, /*high=*/true, ranges);
    return low && isNatural(low) && ((high && isNatural(size - 1 - high)) || isNeverNegative(size - 1 - subscript.replaceDims(points)));
  });
}

} // namespace kernelc

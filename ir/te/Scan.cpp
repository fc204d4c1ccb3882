// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Scan.h"

using namespace mlir;

namespace kernelc::te {

std::optional<ScanTie> findScanTie(ReduceOp op, unsigned c, unsigned j, unsigned k) {
  IntegerSet set = *op.getCondition();
  if (set.isEq(c))
    return std::nullopt;
  MLIRContext *context = op.getContext();
  AffineExpr up = getAffineDimExpr(j, context) - getAffineDimExpr(k, context);
  for (bool reverse : {false, true}) {
    AffineExpr rest = simplifyAffineExpr(set.getConstraint(c) - (reverse ? -up : up), set.getNumDims(), set.getNumSymbols());
    if (auto offset = dyn_cast<AffineConstantExpr>(rest))
      return ScanTie{c, reverse, offset.getValue()};
  }
  return std::nullopt;
}

std::optional<Scan> findScan(ReduceOp op) {
  std::optional<IntegerSet> set = op.getCondition();
  unsigned reduced = op.getNumParallel();
  if (!set || op.isArg() || op.getInit() || op.getOutMap() || op.getNumDims() != reduced + 1)
    return std::nullopt;
  for (unsigned c = 0; c < set->getNumConstraints(); ++c)
    for (unsigned j = 0; j < reduced; ++j) {
      std::optional<ScanTie> tie = findScanTie(op, c, j, reduced);
      if (!tie || (tie->offset != 0 && tie->offset != -1) || !op.getBlock().getArgument(j).use_empty() ||
          op.getExtents().getResult(j) != op.getExtents().getResult(reduced))
        continue;
      Scan scan{j, reduced, tie->reverse, tie->offset == -1, {}};
      bool isFree = true;
      for (unsigned other = 0; other < set->getNumConstraints(); ++other)
        if (other != c) {
          scan.where.push_back(other);
          isFree &= !set->getConstraint(other).isFunctionOfDim(j);
        }
      if (isFree)
        return scan;
    }
  return std::nullopt;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Scan.h"

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

std::optional<ScanTie> findScanTie(Operation *op, unsigned c, unsigned j, unsigned k) {
  IntegerSet set = *getCondition(op);
  AffineExpr constraint = set.getConstraint(c);
  if (set.isEq(c) || !constraint.isFunctionOfDim(j) || !constraint.isFunctionOfDim(k))
    return std::nullopt;
  MLIRContext *context = op->getContext();
  AffineExpr up = getAffineDimExpr(j, context) - getAffineDimExpr(k, context);
  for (bool reverse : {false, true}) {
    AffineExpr rest = simplifyAffineExpr(constraint - (reverse ? -up : up), set.getNumDims(), set.getNumSymbols());
    if (auto offset = dyn_cast<AffineConstantExpr>(rest))
      return ScanTie{c, reverse, offset.getValue()};
  }
  return std::nullopt;
}

std::optional<Scan> findScan(ReduceOp op) { return findScanOf(op); }

std::optional<Scan> findScanOf(Operation *op, bool positions) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!isa<ReduceOp, FoldOp>(op) || (reduce && ((reduce.isArg() && !positions) || reduce.getInit() || reduce.getOutMap())))
    return std::nullopt;
  std::optional<IntegerSet> set = getCondition(op);
  unsigned reduced = getNumParallel(op);
  AffineMap extents = getExtents(op);
  if (!set || extents.getNumResults() != reduced + 1)
    return std::nullopt;
  Block &body = op->getRegion(0).front();
  for (unsigned c = 0; c < set->getNumConstraints(); ++c)
    for (unsigned j = 0; j < reduced; ++j) {
      if (!body.getArgument(j).use_empty() || extents.getResult(j) != extents.getResult(reduced))
        continue; // (asked first: a tie is found by algebra)
      std::optional<ScanTie> tie = findScanTie(op, c, j, reduced);
      if (!tie || (tie->offset != 0 && tie->offset != -1))
        continue;
      Scan scan{j, reduced, tie->reverse, tie->offset == -1, false, {}};
      if (auto fold = dyn_cast<FoldOp>(op); fold && tie->reverse && !fold.getDescending()) {
        if (!fold.getMonoid())
          continue; // each result from its own first element on
        scan.behind = !fold.getCommutative();
      }
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

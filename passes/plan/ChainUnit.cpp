// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ChainUnit.h"

#include "passes/index/IndexArithmetic.h"
#include "support/TargetCosts.h"
#include "support/TargetRates.h"

using namespace mlir;

namespace kernelc::te {

bool isOnCores(const Contraction &c) { return !c.unitType && !c.term && c.aType.isF32() && c.bType.isF32(); }

bool isTied(const Contraction &c, bool b) {
  const auto &where = b ? c.bWhere : c.aWhere, &other = b ? c.aWhere : c.bWhere;
  const auto &mask = b ? c.bMask : c.aMask, &otherMask = b ? c.aMask : c.bMask;
  for (unsigned i = 0; where && i < where->getNumConstraints(); ++i)
    if (!other || !implies(*other, {where->getConstraint(i), where->isEq(i)}))
      return true;
  return llvm::any_of(mask, [&](Value part) { return !llvm::is_contained(otherMask, part); });
}

/// Whether `factor` is made of a product's results.
static bool isMadeOfProduct(Value factor) {
  return llvm::any_of(findReads(factor), [](ReadOp read) {
    auto made = read.getTensor().getDefiningOp<ReduceOp>();
    return made && findContraction(made);
  });
}

std::optional<WarpgroupForm> findChainForm(const Contraction &c) {
  if (!isOnCores(c))
    return findWarpgroupForm(c);
  bool a = isMadeOfProduct(c.a), b = isMadeOfProduct(c.b);
  if (a && b) { // what is read as it stands may lie in memory
    a = !findOperandRead(c.a);
    b = !findOperandRead(c.b);
  }
  if (a && b)
    return std::nullopt;
  return WarpgroupForm{c.aType, a, b};
}

ChainUnit unitOfChain(const Contraction &c, const Target &target) {
  const ChainCosts &costs = target.costs->chains;
  if (!isOnCores(c))
    return {false, 2, target.productRate, target.chainRate, double(costs.tileRows), 16, costs.mostColumns, -1};
  const TargetRates *rates = findTargetRates(target.name);
  double peak = rates ? double(rates->f32) * rates->clock : 0;
  // Half as many rows: two blocks share a multiprocessor.
  return {
      true, 4, peak * costs.coresProduct, peak * costs.coresChain, double(costs.tileRows) / 2, 32, costs.mostOnCores, costs.mostOnCores};
}

} // namespace kernelc::te

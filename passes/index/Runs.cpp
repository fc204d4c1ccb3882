// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Runs.h"

#include <numeric>

using namespace mlir;

namespace kernelc::te {

AffineExpr withPinnedSizes(AffineExpr e, unsigned dims, unsigned symbols, const SizeFacts &facts) {
  SmallVector<AffineExpr> sizes;
  for (unsigned i = 0; i < symbols; ++i)
    sizes.push_back(withPinnedSizes(getAffineSymbolExpr(i, e.getContext()), facts));
  return simplifyAffineExpr(e.replaceSymbols(sizes), dims, symbols);
}

std::optional<Run> findRun(AffineExpr e, unsigned element, unsigned dims, unsigned symbols, int64_t elementBytes, const SizeFacts &facts) {
  e = withPinnedSizes(e, dims, symbols, facts);
  if (linearCoefficient(e, element) != 1)
    return std::nullopt;
  AffineExpr begin = e.replace(getAffineDimExpr(element, e.getContext()), getAffineConstantExpr(0, e.getContext()));
  begin = simplifyAffineExpr(begin, dims, symbols);
  int64_t pitch = knownDivisor(begin, facts);
  if (begin.isSymbolicOrConstant() || pitch == 0 || pitch * elementBytes % 16 != 0)
    return std::nullopt;
  return Run{simplifyAffineExpr(begin.floorDiv(pitch), dims, symbols), pitch};
}

/// A number that `e` is a multiple of. Unlike knownDivisor, which keeps powers of two, it keeps constant factors as they are.
static int64_t stepOf(AffineExpr e, const SizeFacts &facts) {
  auto both = dyn_cast<AffineBinaryOpExpr>(e);
  if (both && e.getKind() == AffineExprKind::Add)
    return std::gcd(stepOf(both.getLHS(), facts), stepOf(both.getRHS(), facts));
  auto factor = both && e.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(both.getRHS()) : AffineConstantExpr();
  return factor ? std::abs(factor.getValue()) * stepOf(both.getLHS(), facts) : knownDivisor(e, facts);
}

bool areRunsWhole(AffineExpr begin, AffineExpr span, AffineExpr extent, const SizeFacts &facts) {
  int64_t most = knownMax(span, facts), step = stepOf(begin, facts);
  return most >= 0 && most <= step && stepOf(simplifyAffineExpr(extent - span, 0, facts.div.size()), facts) % step == 0;
}

} // namespace kernelc::te

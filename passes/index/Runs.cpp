// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Runs.h"

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

bool areRunsWhole(AffineExpr begin, AffineExpr span, AffineExpr extent, const SizeFacts &facts) {
  int64_t most = knownMax(span, facts), step = knownDivisor(begin, facts);
  return most >= 0 && most <= step && knownDivisor(simplifyAffineExpr(extent - span, 0, facts.div.size()), facts) % step == 0;
}

} // namespace kernelc::te

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/LinearRead.h"

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc::te {

SmallVector<unsigned> LinearRead::subscriptsWith(unsigned d) const {
  SmallVector<unsigned> found;
  for (unsigned r = 0; r < coefficients.size(); ++r)
    if (coefficients[r][d])
      found.push_back(r);
  return found;
}

bool LinearRead::isAlone(unsigned r, unsigned d) const {
  for (auto [other, c] : llvm::enumerate(coefficients[r]))
    if (c != (other == d ? 1 : 0))
      return false;
  return rest[r] == getAffineConstantExpr(0, rest[r].getContext());
}

std::optional<LinearRead> lineariseRead(Operation *op, ReadOp read) {
  unsigned dims = getExtents(op).getNumResults(), symbols = getExtents(op).getNumSymbols();
  MLIRContext *context = op->getContext();
  SmallVector<AffineExpr> toOp, none(dims, getAffineConstantExpr(0, context));
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(op, v);
    if (!d)
      return std::nullopt;
    toOp.push_back(getAffineDimExpr(*d, context));
  }
  LinearRead found{read, {}, {}};
  for (AffineExpr e : read.getMapOrIdentity().getResults()) {
    e = simplifyAffineExpr(e.replaceDims(toOp), dims, symbols);
    SmallVector<int64_t> row(dims, 0);
    for (unsigned d = 0; d < dims; ++d) {
      if (!e.isFunctionOfDim(d))
        continue;
      std::optional<int64_t> c = linearCoefficient(e, d);
      if (!c)
        return std::nullopt;
      row[d] = *c;
    }
    found.coefficients.push_back(row);
    found.rest.push_back(simplifyAffineExpr(e.replaceDims(none), 0, symbols));
  }
  return found;
}

} // namespace kernelc::te

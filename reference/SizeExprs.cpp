// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/SizeExprs.h"

using namespace mlir;

namespace kernelc::reference {

SizeExpr toSizeExpr(AffineExpr expr, int firstDim) {
  auto binary = [&](SizeTerm::Op op) {
    auto b = cast<AffineBinaryOpExpr>(expr);
    return SizeExpr::binary(op, toSizeExpr(b.getLHS(), firstDim), toSizeExpr(b.getRHS(), firstDim));
  };
  switch (expr.getKind()) {
  case AffineExprKind::Add: return binary(SizeTerm::Add);
  case AffineExprKind::Mul: return binary(SizeTerm::Mul);
  case AffineExprKind::Mod: return binary(SizeTerm::Mod);
  case AffineExprKind::FloorDiv: return binary(SizeTerm::FloorDiv);
  case AffineExprKind::CeilDiv: return binary(SizeTerm::CeilDiv);
  case AffineExprKind::Constant: return SizeExpr(cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::SymbolId: return SizeExpr::size(cast<AffineSymbolExpr>(expr).getPosition());
  case AffineExprKind::DimId: break;
  }
  assert(firstDim >= 0 && "the te verifier admits no dims here");
  return SizeExpr::size(firstDim + int(cast<AffineDimExpr>(expr).getPosition()));
}

std::vector<SizeExpr> toSizeExprs(AffineMap map) {
  std::vector<SizeExpr> result;
  for (AffineExpr e : map.getResults())
    result.push_back(toSizeExpr(e));
  return result;
}

SizeExpr toSizeExpr(IntegerSet set) {
  SizeExpr all(1);
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    SizeExpr e = toSizeExpr(set.getConstraint(i));
    all = SizeExpr::binary(SizeTerm::And, all, set.isEq(i) ? SizeExpr::binary(SizeTerm::Eq, e, 0) : SizeExpr::binary(SizeTerm::Le, 0, e));
  }
  return all;
}

} // namespace kernelc::reference

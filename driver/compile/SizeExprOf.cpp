// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/SizeExprOf.h"

using namespace mlir;

namespace kernelc {

SizeExpr sizeExprOf(AffineExpr e) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return SizeExpr(c.getValue());
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return SizeExpr::size(s.getPosition());
  auto b = cast<AffineBinaryOpExpr>(e);
  SizeTerm::Op op = SizeTerm::Add;
  switch (e.getKind()) {
  case AffineExprKind::Add: op = SizeTerm::Add; break;
  case AffineExprKind::Mul: op = SizeTerm::Mul; break;
  case AffineExprKind::FloorDiv: op = SizeTerm::FloorDiv; break;
  case AffineExprKind::CeilDiv: op = SizeTerm::CeilDiv; break;
  default: op = SizeTerm::Mod; break;
  }
  return SizeExpr::binary(op, sizeExprOf(b.getLHS()), sizeExprOf(b.getRHS()));
}

SizeExpr sizeExprOf(IntegerSet set) {
  SizeExpr all(1);
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    SizeExpr left = sizeExprOf(set.getConstraint(i));
    SizeExpr holds = set.isEq(i) ? SizeExpr::binary(SizeTerm::Eq, left, 0) : SizeExpr::binary(SizeTerm::Le, 0, left);
    all = all.isConstant() ? holds : SizeExpr::binary(SizeTerm::And, all, holds);
  }
  return all;
}

std::optional<LinearSize> solvableSize(AffineExpr e) {
  LinearSize out{0, 0, 0};
  bool ok = true;
  // A sum of constants and multiples of one symbol.
  auto visit = [&](auto &&self, AffineExpr e, int64_t factor) -> void {
    if (auto c = dyn_cast<AffineConstantExpr>(e)) {
      out.offset += factor * c.getValue();
    } else if (auto s = dyn_cast<AffineSymbolExpr>(e)) {
      if (out.scale != 0 && out.size != s.getPosition())
        ok = false;
      out.size = s.getPosition();
      out.scale += factor;
    } else if (auto b = dyn_cast<AffineBinaryOpExpr>(e)) {
      auto c = dyn_cast<AffineConstantExpr>(b.getRHS());
      if (e.getKind() == AffineExprKind::Add) {
        self(self, b.getLHS(), factor);
        self(self, b.getRHS(), factor);
      } else if (e.getKind() == AffineExprKind::Mul && c) {
        self(self, b.getLHS(), factor * c.getValue());
      } else {
        ok = false;
      }
    } else {
      ok = false;
    }
  };
  visit(visit, e, 1);
  if (!ok || out.scale == 0)
    return std::nullopt;
  return out;
}

} // namespace kernelc

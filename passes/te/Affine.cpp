#include "passes/te/Affine.h"

#include <numeric>

using namespace mlir;

namespace kernelc::te {

/// The one value other than zero that a size expression may have, or 0: what divides it is
/// also the most it can be.
static int64_t knownValue(AffineExpr e, const SizeFacts &facts) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue();
  if (!e.isSymbolicOrConstant())
    return 0;
  int64_t divisor = knownDivisor(e, facts);
  return divisor == knownMax(e, facts) ? divisor : 0;
}

int64_t knownDivisor(AffineExpr e, const SizeFacts &facts, ArrayRef<int64_t> dimDiv) {
  switch (e.getKind()) {
  case AffineExprKind::Constant: return std::abs(cast<AffineConstantExpr>(e).getValue());
  case AffineExprKind::DimId: {
    unsigned d = cast<AffineDimExpr>(e).getPosition();
    return d < dimDiv.size() ? dimDiv[d] : 1;
  }
  case AffineExprKind::SymbolId: {
    unsigned s = cast<AffineSymbolExpr>(e).getPosition();
    return s < facts.div.size() ? facts.div[s] : 1;
  }
  case AffineExprKind::Add: {
    auto b = cast<AffineBinaryOpExpr>(e);
    return std::gcd(knownDivisor(b.getLHS(), facts, dimDiv), knownDivisor(b.getRHS(), facts, dimDiv));
  }
  case AffineExprKind::Mul: {
    auto b = cast<AffineBinaryOpExpr>(e);
    // Divisors past 2^20 prove nothing that anyone asks.
    constexpr int64_t kCap = int64_t(1) << 20;
    int64_t x = std::gcd(knownDivisor(b.getLHS(), facts, dimDiv), kCap);
    int64_t y = std::gcd(knownDivisor(b.getRHS(), facts, dimDiv), kCap);
    return x * y;
  }
  case AffineExprKind::Mod: {
    auto b = cast<AffineBinaryOpExpr>(e);
    return std::gcd(knownDivisor(b.getLHS(), facts, dimDiv), knownDivisor(b.getRHS(), facts, dimDiv));
  }
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    auto b = cast<AffineBinaryOpExpr>(e);
    int64_t by = knownValue(b.getRHS(), facts);
    if (by <= 0)
      return 1;
    int64_t d = knownDivisor(b.getLHS(), facts, dimDiv);
    return d % by == 0 ? d / by : 1;
  }
  }
  return 1;
}

int64_t knownMax(AffineExpr e, const SizeFacts &facts) {
  switch (e.getKind()) {
  case AffineExprKind::Constant: return cast<AffineConstantExpr>(e).getValue();
  case AffineExprKind::SymbolId: {
    unsigned s = cast<AffineSymbolExpr>(e).getPosition();
    return s < facts.max.size() ? facts.max[s] : -1;
  }
  case AffineExprKind::Add: {
    auto b = cast<AffineBinaryOpExpr>(e);
    int64_t x = knownMax(b.getLHS(), facts);
    if (auto c = dyn_cast<AffineConstantExpr>(b.getRHS()))
      return x < 0 ? -1 : x + c.getValue();
    int64_t y = knownMax(b.getRHS(), facts);
    return x < 0 || y < 0 ? -1 : x + y;
  }
  case AffineExprKind::Mul: {
    auto b = cast<AffineBinaryOpExpr>(e);
    int64_t x = knownMax(b.getLHS(), facts), y = knownMax(b.getRHS(), facts);
    return x < 0 || y < 0 ? -1 : x * y;
  }
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    auto b = cast<AffineBinaryOpExpr>(e);
    int64_t x = knownMax(b.getLHS(), facts);
    // By zero it is 0; else a multiple of the divisor's divisor, so at least that.
    auto c = dyn_cast<AffineConstantExpr>(b.getRHS());
    int64_t least = c ? c.getValue() : b.getRHS().isSymbolicOrConstant() ? knownDivisor(b.getRHS(), facts) : 0;
    if (x < 0 || least <= 0)
      return x;
    return e.getKind() == AffineExprKind::FloorDiv ? x / least : (x + least - 1) / least;
  }
  default: return -1;
  }
}

bool knownPositive(AffineExpr e, const SizeFacts &facts) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() > 0;
  if (isa<AffineSymbolExpr>(e))
    return knownMax(e, facts) > 0;
  auto b = dyn_cast<AffineBinaryOpExpr>(e);
  return b && (e.getKind() == AffineExprKind::Add || e.getKind() == AffineExprKind::Mul) && knownPositive(b.getLHS(), facts) &&
         knownPositive(b.getRHS(), facts);
}

void collectDims(AffineExpr e, llvm::BitVector &dims) {
  e.walk([&](AffineExpr sub) {
    if (auto d = dyn_cast<AffineDimExpr>(sub)) {
      if (dims.size() <= d.getPosition())
        dims.resize(d.getPosition() + 1);
      dims.set(d.getPosition());
    }
  });
}

std::optional<int64_t> linearCoefficient(AffineExpr e, unsigned dim) {
  if (!e.isFunctionOfDim(dim))
    return 0;
  switch (e.getKind()) {
  case AffineExprKind::DimId: return 1;
  case AffineExprKind::Add: {
    auto b = cast<AffineBinaryOpExpr>(e);
    auto x = linearCoefficient(b.getLHS(), dim), y = linearCoefficient(b.getRHS(), dim);
    if (!x || !y)
      return std::nullopt;
    return *x + *y;
  }
  case AffineExprKind::Mul: {
    auto b = cast<AffineBinaryOpExpr>(e);
    auto c = dyn_cast<AffineConstantExpr>(b.getRHS());
    auto x = linearCoefficient(b.getLHS(), dim);
    if (!c || !x)
      return std::nullopt;
    return *x * c.getValue();
  }
  default: return std::nullopt;
  }
}

} // namespace kernelc::te

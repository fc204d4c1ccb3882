// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Affine.h"

#include <numeric>

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// Least and greatest values, where they are known.
struct Ends {
  std::optional<int64_t> low, high;
};
Ends endsOf(AffineExpr e, const SizeFacts &facts);

/// The one multiple of `divisor` from 1 to `most`, or nothing.
std::optional<int64_t> onlyMultiple(int64_t divisor, int64_t most) {
  return divisor > 0 && most >= divisor && most - divisor < divisor ? std::optional(divisor) : std::nullopt;
}

/// The one value other than zero that a size expression may have, or 0.
int64_t knownValue(AffineExpr e, const SizeFacts &facts) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue();
  if (!e.isSymbolicOrConstant())
    return 0;
  Ends ends = endsOf(e, facts);
  return ends.low && *ends.low >= 0 && ends.high ? onlyMultiple(knownDivisor(e, facts), *ends.high).value_or(0) : 0;
}

} // namespace

std::optional<int64_t> pinnedSize(const SizeFacts &facts, unsigned i) {
  return i < facts.div.size() && i < facts.max.size() ? onlyMultiple(facts.div[i], facts.max[i]) : std::nullopt;
}

AffineExpr withPinnedSizes(AffineExpr e, const SizeFacts &facts) {
  SmallVector<AffineExpr> sizes;
  for (unsigned i = 0; i < facts.div.size(); ++i) {
    std::optional<int64_t> value = pinnedSize(facts, i);
    sizes.push_back(value ? getAffineConstantExpr(*value, e.getContext()) : getAffineSymbolExpr(i, e.getContext()));
  }
  return simplifyAffineExpr(e.replaceSymbols(sizes), 0, sizes.size());
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
    int64_t x = knownDivisor(b.getLHS(), facts, dimDiv), y = knownDivisor(b.getRHS(), facts, dimDiv);
    // What is divided by more than 2^20 proves nothing more that anyone asks: powers of two are kept of such.
    constexpr int64_t kCap = int64_t(1) << 20;
    return x <= kCap && y <= kCap && x * y <= kCap ? x * y : std::gcd(x, kCap) * std::gcd(y, kCap);
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

namespace {

Ends endsOf(AffineExpr e, const SizeFacts &facts) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return {c.getValue(), c.getValue()};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(e)) {
    unsigned s = symbol.getPosition();
    bool bounded = s < facts.max.size() && facts.max[s] >= 0; // then it is also at least 1
    return {bounded ? 1 : 0, bounded ? std::optional(facts.max[s]) : std::nullopt};
  }
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return {};
  Ends x = endsOf(bin.getLHS(), facts), y = endsOf(bin.getRHS(), facts);
  // What 64 bits do not hold is not known.
  auto plus = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    int64_t sum = 0;
    return a && b && !llvm::AddOverflow(*a, *b, sum) ? std::optional(sum) : std::nullopt;
  };
  auto times = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    int64_t product = 0;
    return a && b && !llvm::MulOverflow(*a, *b, product) ? std::optional(product) : std::nullopt;
  };
  auto c = dyn_cast<AffineConstantExpr>(bin.getRHS());
  switch (e.getKind()) {
  case AffineExprKind::Add: return {plus(x.low, y.low), plus(x.high, y.high)};
  case AffineExprKind::Mul:
    if (c)
      return c.getValue() < 0 ? Ends{times(x.high, c.getValue()), times(x.low, c.getValue())}
                              : Ends{times(x.low, c.getValue()), times(x.high, c.getValue())};
    if (!x.low || !y.low || *x.low < 0 || *y.low < 0)
      return {};
    return {times(x.low, y.low), times(x.high, y.high)};
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    // By zero it is 0; else a multiple of the divisor's divisor, so at least that.
    int64_t least = c ? c.getValue() : bin.getRHS().isSymbolicOrConstant() ? knownDivisor(bin.getRHS(), facts) : 0;
    auto divide = [&](int64_t v) {
      return e.getKind() == AffineExprKind::FloorDiv ? llvm::divideFloorSigned(v, least) : llvm::divideCeilSigned(v, least);
    };
    if (least <= 0)
      return {0, x.high};
    Ends ends;
    if (x.high)
      ends.high = c ? divide(*x.high) : std::max<int64_t>(0, divide(*x.high));
    if (x.low)
      ends.low = c ? divide(*x.low) : std::min<int64_t>(0, divide(*x.low));
    return ends;
  }
  default: return {};
  }
}

} // namespace

int64_t knownMax(AffineExpr e, const SizeFacts &facts) {
  std::optional<int64_t> high = endsOf(e, facts).high;
  return high && *high <= Count::kMost ? std::max<int64_t>(*high, 1) : -1;
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

bool isNonNegative(AffineExpr e) {
  switch (e.getKind()) {
  case AffineExprKind::Constant: return cast<AffineConstantExpr>(e).getValue() >= 0;
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
  case AffineExprKind::Mod: return true;
  default: {
    auto b = cast<AffineBinaryOpExpr>(e);
    return isNonNegative(b.getLHS()) && isNonNegative(b.getRHS());
  }
  }
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

bool variesInTile(AffineExpr e, unsigned dim, int64_t tile) {
  if (tile == 1 || !e.isFunctionOfDim(dim))
    return false;
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return true;
  auto radix = dyn_cast<AffineConstantExpr>(bin.getRHS());
  if (e.getKind() == AffineExprKind::FloorDiv && radix && radix.getValue() % tile == 0 &&
      bin.getLHS() == getAffineDimExpr(dim, e.getContext()))
    return false;
  return variesInTile(bin.getLHS(), dim, tile) || variesInTile(bin.getRHS(), dim, tile);
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

std::optional<int64_t> neighboursIn(AffineExpr e, unsigned dim) {
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return isa<AffineDimExpr>(e) && e.isFunctionOfDim(dim) ? std::optional<int64_t>(1) : std::nullopt;
  if (e.getKind() == AffineExprKind::Add) {
    bool left = bin.getLHS().isFunctionOfDim(dim);
    return left && bin.getRHS().isFunctionOfDim(dim) ? std::nullopt : neighboursIn(left ? bin.getLHS() : bin.getRHS(), dim);
  }
  auto c = dyn_cast<AffineConstantExpr>(bin.getRHS());
  bool isQuotient = e.getKind() == AffineExprKind::FloorDiv && c && c.getValue() <= 8 && llvm::isPowerOf2_64(uint64_t(c.getValue())) &&
                    bin.getLHS() == getAffineDimExpr(dim, e.getContext());
  return isQuotient ? std::optional(c.getValue()) : std::nullopt;
}

static void collectTerms(AffineExpr e, int64_t factor, SmallVectorImpl<std::pair<AffineExpr, int64_t>> &terms) {
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (bin && e.getKind() == AffineExprKind::Add) {
    collectTerms(bin.getLHS(), factor, terms);
    collectTerms(bin.getRHS(), factor, terms);
    return;
  }
  auto scale = bin && e.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(bin.getRHS()) : AffineConstantExpr();
  if (scale)
    return collectTerms(bin.getLHS(), factor * scale.getValue(), terms);
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    terms.push_back({getAffineConstantExpr(1, e.getContext()), factor * c.getValue()});
  else
    terms.push_back({e, factor});
}

SmallVector<std::pair<AffineExpr, int64_t>> splitTerms(AffineExpr e) {
  SmallVector<std::pair<AffineExpr, int64_t>> terms;
  collectTerms(e, 1, terms);
  return terms;
}

} // namespace kernelc::te

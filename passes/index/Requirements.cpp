// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Requirements.h"

#include <numeric>

using namespace mlir;

namespace kernelc::te {

namespace {

constexpr int64_t kMost = 1 << 20;             // far more than any tile
constexpr int64_t kLargest = int64_t(1) << 40; // sums of factors up to it stay far from the ends of 64 bits

/// What the size is a multiple of where `sum` is a multiple of `of` (0: is zero), or 1.
///
///     3 * N + 8 * M - 16, of = 0        8 divides N
int64_t divisorIn(AffineExpr sum, unsigned size, int64_t of, const SizeFacts &facts) {
  int64_t own = 0, others = of;
  for (auto [term, factor] : splitTerms(sum)) {
    auto symbol = dyn_cast<AffineSymbolExpr>(term);
    bool isOwn = symbol && symbol.getPosition() == size;
    if (factor > kLargest || factor < -kLargest || (!isOwn && term.isFunctionOfSymbol(size)))
      return 1;
    if (isOwn) {
      own += factor;
      continue;
    }
    int64_t divisor = knownDivisor(term, facts), times = std::abs(factor);
    bool isSmall = divisor <= kMost && times <= kMost; // (a divisor of the product in any case)
    others = std::gcd(others, isSmall ? divisor * times : times);
  }
  // own * size is a multiple of others.
  return own == 0 || others == 0 ? 1 : others / std::gcd(others, std::abs(own));
}

} // namespace

SmallVector<int64_t> requiredDivisors(KernelOp kernel, const SizeFacts &facts) {
  SmallVector<int64_t> divisors(facts.div);
  divisors.resize(kernel.getNumSizes(), 1);
  auto note = [&](unsigned size, int64_t divisor) {
    int64_t part = divisor <= kMost ? divisor : std::gcd(divisor, kMost);
    int64_t both = divisors[size] <= kMost ? std::lcm(divisors[size], part) : divisors[size];
    bool isBeyond = size < facts.max.size() && facts.max[size] >= 0 && both > facts.max[size];
    if (both > kMost || isBeyond || both == divisors[size])
      return false;
    divisors[size] = both;
    return true;
  };
  // One says more where another has spoken: each divisor only grows.
  for (bool any = true; any;) {
    any = false;
    for (Attribute a : kernel.getRequirements()) {
      IntegerSet set = cast<IntegerSetAttr>(a).getValue();
      for (auto [e, isEquality] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
        auto mod = e.getKind() == AffineExprKind::Mod ? cast<AffineBinaryOpExpr>(e) : AffineBinaryOpExpr(nullptr);
        int64_t of = mod ? knownDivisor(mod.getRHS(), {divisors, facts.max}) : 0;
        for (unsigned size = 0; isEquality && size < divisors.size(); ++size)
          any |= e.isFunctionOfSymbol(size) && note(size, divisorIn(mod ? mod.getLHS() : e, size, of, {divisors, facts.max}));
      }
    }
  }
  return divisors;
}

} // namespace kernelc::te

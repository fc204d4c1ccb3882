// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/SizeRange.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace kernelc {
namespace {

constexpr SizeRange kTruth{0, 1};

bool isPositive(SizeRange r) { return r.low > 0; }
SizeRange just(bool holds) { return {holds, holds}; }

int64_t apply(SizeTerm::Op op, int64_t a, int64_t b) {
  int64_t value = 0;
  SizeExpr::binary(op, a, b).isConstant(&value);
  return value;
}

/// Of operations that are monotone in each operand: the extremes are at corners.
SizeRange ofCorners(SizeTerm::Op op, SizeRange a, SizeRange b) {
  auto all = {apply(op, a.low, b.low), apply(op, a.low, b.high), apply(op, a.high, b.low), apply(op, a.high, b.high)};
  return {std::min(all), std::max(all)};
}

SizeRange negated(SizeRange truth) { return {!truth.high, !truth.low}; }

SizeRange less(SizeRange a, SizeRange b) {
  if (a.high < b.low)
    return just(true);
  return a.low >= b.high ? just(false) : kTruth;
}

SizeRange equal(SizeRange a, SizeRange b) {
  if (a.high < b.low || b.high < a.low)
    return just(false);
  return a.isConstant() && b.isConstant() ? just(true) : kTruth;
}

/// Whether it is not zero.
SizeRange truthOf(SizeRange a) {
  if (a.low > 0 || a.high < 0)
    return just(true);
  return a.isConstant() ? just(false) : kTruth;
}

SizeRange combine(SizeTerm::Op op, SizeRange a, SizeRange b) {
  switch (op) {
  case SizeTerm::Add:
  case SizeTerm::Sub:
  case SizeTerm::Mul:
  case SizeTerm::Min:
  case SizeTerm::Max: return ofCorners(op, a, b);
  case SizeTerm::FloorDiv:
  case SizeTerm::CeilDiv: return isPositive(b) ? ofCorners(op, a, b) : SizeRange();
  case SizeTerm::Mod:
    if (a.isConstant() && b.isConstant())
      return ofCorners(op, a, b);
    return isPositive(b) ? SizeRange{0, b.high - 1} : SizeRange();
  case SizeTerm::Eq: return equal(a, b);
  case SizeTerm::Ne: return negated(equal(a, b));
  case SizeTerm::Lt: return less(a, b);
  case SizeTerm::Le: return negated(less(b, a));
  case SizeTerm::And: return {truthOf(a).low && truthOf(b).low, truthOf(a).high && truthOf(b).high};
  case SizeTerm::Or: return {truthOf(a).low || truthOf(b).low, truthOf(a).high || truthOf(b).high};
  default: return {};
  }
}

} // namespace

SizeRange rangeOf(const SizeExpr &e, absl::Span<const SizeRange> sizes) {
  std::vector<SizeRange> stack;
  for (const SizeTerm &t : e.terms()) {
    if (t.op == SizeTerm::Const) {
      stack.push_back({t.value, t.value});
    } else if (t.op == SizeTerm::Size) {
      stack.push_back(size_t(t.value) < sizes.size() ? sizes[t.value] : SizeRange());
    } else if (t.op == SizeTerm::Stride) {
      stack.emplace_back();
    } else if (t.op == SizeTerm::SmCount) {
      stack.push_back({1, std::numeric_limits<int32_t>::max()});
    } else if (t.op == SizeTerm::Not) {
      if (stack.empty())
        return {};
      stack.back() = negated(truthOf(stack.back()));
    } else {
      if (stack.size() < 2)
        return {};
      SizeRange b = stack.back();
      stack.pop_back();
      stack.back() = combine(t.op, stack.back(), b);
    }
  }
  return stack.empty() ? SizeRange{0, 0} : stack.back();
}

} // namespace kernelc

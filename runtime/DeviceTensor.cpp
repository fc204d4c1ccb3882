// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/DeviceTensor.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "support/FloorDivide.h"

namespace kernelc {
namespace {

/// coefficient * x with x in [low, high].
struct Term {
  int64_t coefficient, low, high;
};

int64_t ceilDiv(int64_t a, int64_t b) { return -floorDivide(-a, b); }

/// Is there a choice of x's with the sum of the terms in [low, high]? Depth-first,
/// largest coefficient first: for nested strides only a value or two of each x can
/// work, so the search is short.
class BoundedSum {
public:
  explicit BoundedSum(std::vector<Term> terms) {
    for (Term t : terms) {
      if (t.coefficient < 0)
        t = {-t.coefficient, -t.high, -t.low};
      auto same = std::find_if(terms_.begin(), terms_.end(), [&](const Term &o) { return o.coefficient == t.coefficient; });
      if (t.coefficient == 0)
        continue;
      if (same == terms_.end())
        terms_.push_back(t);
      else
        *same = {t.coefficient, same->low + t.low, same->high + t.high};
    }
    std::sort(terms_.begin(), terms_.end(), [](const Term &a, const Term &b) { return a.coefficient > b.coefficient; });
    restLow_.resize(terms_.size() + 1);
    restHigh_.resize(terms_.size() + 1);
    for (size_t i = terms_.size(); i-- > 0;) {
      restLow_[i] = restLow_[i + 1] + terms_[i].coefficient * terms_[i].low;
      restHigh_[i] = restHigh_[i + 1] + terms_[i].coefficient * terms_[i].high;
    }
  }

  bool reaches(int64_t low, int64_t high) {
    steps_ = 0;
    return search(0, low, high);
  }

private:
  bool search(size_t i, int64_t low, int64_t high) {
    constexpr int kMaxSteps = 20000; // then the answer is the safe one
    if (++steps_ > kMaxSteps)
      return true;
    if (high < restLow_[i] || low > restHigh_[i])
      return false;
    if (i == terms_.size())
      return true;
    const Term &t = terms_[i];
    int64_t from = std::max(t.low, ceilDiv(low - restHigh_[i + 1], t.coefficient));
    int64_t to = std::min(t.high, floorDivide(high - restLow_[i + 1], t.coefficient));
    for (int64_t x = from; x <= to; ++x)
      if (search(i + 1, low - t.coefficient * x, high - t.coefficient * x))
        return true;
    return false;
  }

  std::vector<Term> terms_;
  std::vector<int64_t> restLow_, restHigh_;
  int steps_ = 0;
};

bool isEmpty(const DeviceTensor &t) { return std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end(); }

void appendTerms(const DeviceTensor &t, int sign, std::vector<Term> *terms) {
  for (size_t d = 0; d < t.shape.size(); ++d)
    terms->push_back({sign * t.strides[d] * elementBits(t.type), 0, t.shape[d] - 1});
}

} // namespace

bool mayOverlap(const DeviceTensor &a, const DeviceTensor &b) {
  if (isEmpty(a) || isEmpty(b))
    return false;
  // Addresses stay below 2^57 bytes, so differences in bits fit.
  int64_t distance = (reinterpret_cast<intptr_t>(a.data) - reinterpret_cast<intptr_t>(b.data)) * 8;
  std::vector<Term> terms;
  appendTerms(a, 1, &terms);
  appendTerms(b, -1, &terms);
  // The element at bit p of `a` and the one at bit q of `b` meet when -bits(a) < p - q < bits(b).
  return BoundedSum(std::move(terms)).reaches(1 - elementBits(a.type) - distance, elementBits(b.type) - 1 - distance);
}

bool mayOverlapItself(const DeviceTensor &t) {
  if (isEmpty(t))
    return false;
  int bits = elementBits(t.type);
  // Two elements differ first in some dimension d, there by 1 up to extent - 1.
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] < 2)
      continue;
    std::vector<Term> terms = {{t.strides[d] * bits, 1, t.shape[d] - 1}};
    for (size_t e = d + 1; e < t.shape.size(); ++e)
      terms.push_back({t.strides[e] * bits, 1 - t.shape[e], t.shape[e] - 1});
    if (t.strides[d] == 0 || BoundedSum(std::move(terms)).reaches(1 - bits, bits - 1))
      return true;
  }
  return false;
}

namespace {

/// Whether a finite number rounds to none of the type's finite values.
bool overflows(ElementType type, double value) {
  if (!std::isfinite(value))
    return false;
  switch (type) {
  case ElementType::f32: return std::isinf(static_cast<float>(value));
  case ElementType::f16: return std::isinf(fromF16(toF16(value)));
  case ElementType::bf16: return std::isinf(fromBF16(toBF16(value)));
  // Conversions to f8 saturate, so these are half a step beyond the largest value; ties go to the even one.
  case ElementType::f8e4m3: return std::fabs(value) > 464;
  case ElementType::f8e5m2: return std::fabs(value) >= 61440;
  default: return false;
  }
}

} // namespace

absl::StatusOr<ScalarValue> ScalarValue::fromDouble(ElementType type, double value) {
  if (overflows(type, value))
    return absl::OutOfRangeError(absl::StrCat(value, " does not fit in ", elementTypeName(type)));
  switch (type) {
  case ElementType::f64: return ScalarValue{type, std::bit_cast<uint64_t>(value)};
  case ElementType::f32: return ScalarValue{type, std::bit_cast<uint32_t>(static_cast<float>(value))};
  case ElementType::f16: return ScalarValue{type, toF16(value)};
  case ElementType::bf16: return ScalarValue{type, toBF16(value)};
  case ElementType::f8e4m3: return ScalarValue{type, toF8E4M3(value)};
  case ElementType::f8e5m2: return ScalarValue{type, toF8E5M2(value)};
  default: break;
  }
  if (value != std::trunc(value) || !(std::fabs(value) <= 9007199254740992.0))
    return absl::OutOfRangeError(absl::StrCat("expected an integer for type ", elementTypeName(type), ", got ", value));
  return fromInt(type, static_cast<int64_t>(value));
}

absl::StatusOr<ScalarValue> ScalarValue::fromInt(ElementType type, int64_t value) {
  if (isFloat(type))
    return type == ElementType::f32 ? absl::StatusOr<ScalarValue>(ScalarValue{type, std::bit_cast<uint32_t>(static_cast<float>(value))})
                                    : fromDouble(type, static_cast<double>(value));
  int bits = type == ElementType::boolean ? 1 : elementBits(type);
  bool isSigned = isSignedInteger(type);
  int64_t low = isSigned ? (bits == 64 ? INT64_MIN : -(int64_t(1) << (bits - 1))) : 0;
  int64_t high = isSigned ? (bits == 64 ? INT64_MAX : (int64_t(1) << (bits - 1)) - 1) : (bits >= 63 ? INT64_MAX : (int64_t(1) << bits) - 1);
  if (value < low || value > high)
    return absl::OutOfRangeError(absl::StrCat(value, " does not fit in ", elementTypeName(type)));
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return ScalarValue{type, static_cast<uint64_t>(value) & mask};
}

absl::StatusOr<ScalarValue> ScalarValue::fromUnsigned(ElementType type, uint64_t value) {
  if (value <= uint64_t(INT64_MAX))
    return fromInt(type, static_cast<int64_t>(value));
  if (type == ElementType::u64)
    return ScalarValue{type, value};
  if (type == ElementType::f32) // rounds once
    return ScalarValue{type, std::bit_cast<uint32_t>(static_cast<float>(value))};
  if (isFloat(type))
    return fromDouble(type, static_cast<double>(value));
  return absl::OutOfRangeError(absl::StrCat(value, " does not fit in ", elementTypeName(type)));
}

} // namespace kernelc

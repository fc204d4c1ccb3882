// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The narrow formats, exhaustively: every pattern against its value written out
// from the format's definition, every rounding against a search for the nearest.
#include "support/ElementType.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kernelc {
namespace {

/// A format as its standard describes it, apart from the code under test.
struct Spec {
  const char *name;
  int bits, mantissaBits, bias;
  bool hasInfinity; ///< exponent of all ones is infinity and NaN (else only all ones is NaN)
  bool saturates;
  uint32_t (*narrowDouble)(double);
  uint32_t (*narrowFloat)(float);
  float (*widen)(uint32_t);
};

const Spec kSpecs[] = {
    {"f16", 16, 10, 15, true, false, [](double v) -> uint32_t { return toF16(v); }, [](float v) -> uint32_t { return toF16(v); },
     [](uint32_t b) { return fromF16(uint16_t(b)); }},
    {"bf16", 16, 7, 127, true, false, [](double v) -> uint32_t { return toBF16(v); }, [](float v) -> uint32_t { return toBF16(v); },
     [](uint32_t b) { return fromBF16(uint16_t(b)); }},
    {"f8e4m3", 8, 3, 7, false, true, [](double v) -> uint32_t { return toF8E4M3(v); }, [](float v) -> uint32_t { return toF8E4M3(v); },
     [](uint32_t b) { return fromF8E4M3(uint8_t(b)); }},
    {"f8e5m2", 8, 2, 15, true, true, [](double v) -> uint32_t { return toF8E5M2(v); }, [](float v) -> uint32_t { return toF8E5M2(v); },
     [](uint32_t b) { return fromF8E5M2(uint8_t(b)); }},
};

/// What a pattern means.
double valueOf(const Spec &s, uint32_t bits) {
  uint32_t mantissaMask = (1u << s.mantissaBits) - 1, mantissa = bits & mantissaMask;
  int exponentBits = s.bits - 1 - s.mantissaBits;
  uint32_t allOnes = (1u << exponentBits) - 1, exponent = bits >> s.mantissaBits & allOnes;
  double sign = bits >> (s.bits - 1) & 1 ? -1 : 1;
  if (exponent == allOnes && s.hasInfinity)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == allOnes && !s.hasInfinity && mantissa == mantissaMask)
    return NAN;
  double scale = std::pow(2.0, -s.mantissaBits);
  return exponent == 0 ? sign * mantissa * scale * std::pow(2.0, 1 - s.bias)
                       : sign * (1 + mantissa * scale) * std::pow(2.0, int(exponent) - s.bias);
}

/// Nearest by search, ties to the even pattern; beyond the largest finite value as
/// if the format went on, then infinity or saturation.
class Oracle {
public:
  explicit Oracle(const Spec &s) : spec_(s) {
    for (uint32_t b = 0; b < 1u << (s.bits - 1); ++b)
      if (std::isfinite(valueOf(s, b)))
        values_.push_back(valueOf(s, b)); // ascending, and the index is the pattern
  }
  uint32_t narrow(double v) const {
    uint32_t sign = std::signbit(v) ? 1u << (spec_.bits - 1) : 0;
    double a = std::fabs(v);
    uint32_t last = uint32_t(values_.size()) - 1;
    if (a >= values_.back()) {
      double next = values_.back() + (values_[last] - values_[last - 1]);
      bool up = a == values_.back() ? false : a > midpoint(values_.back(), next) || (a == midpoint(values_.back(), next) && last % 2);
      return sign | (up && !spec_.saturates ? last + 1 : last);
    }
    uint32_t above = uint32_t(std::upper_bound(values_.begin(), values_.end(), a) - values_.begin()), below = above - 1;
    double middle = midpoint(values_[below], values_[above]);
    if (a == middle)
      return sign | (below % 2 ? above : below);
    return sign | (a < middle ? below : above);
  }
  const std::vector<double> &values() const { return values_; }

private:
  static double midpoint(double a, double b) { return a + (b - a) / 2; } // exact: few bits
  const Spec &spec_;
  std::vector<double> values_;
};

class NarrowFormat : public testing::TestWithParam<Spec> {};

TEST_P(NarrowFormat, EveryPatternWidensToItsValue) {
  for (uint32_t b = 0; b < 1u << GetParam().bits; ++b) {
    double expected = valueOf(GetParam(), b);
    float got = GetParam().widen(b);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(got)) << b;
    else
      ASSERT_TRUE(double(got) == expected && std::signbit(got) == std::signbit(expected)) << b << ": " << got;
  }
}

TEST_P(NarrowFormat, EveryFinitePatternRoundTrips) {
  for (uint32_t b = 0; b < 1u << GetParam().bits; ++b) {
    double v = valueOf(GetParam(), b);
    if (std::isnan(v)) {
      ASSERT_TRUE(std::isnan(GetParam().widen(GetParam().narrowDouble(GetParam().widen(b))))) << b;
    } else if (std::isinf(v) && GetParam().saturates) {
      ASSERT_TRUE(std::isfinite(GetParam().widen(GetParam().narrowDouble(v)))) << "stores saturate";
    } else {
      ASSERT_EQ(GetParam().narrowDouble(v), b);
      ASSERT_EQ(GetParam().narrowFloat(float(v)), b);
    }
  }
}

// Every value, every midpoint, and their closest neighbours in f64 and f32.
TEST_P(NarrowFormat, RoundsToNearestEven) {
  Oracle oracle(GetParam());
  auto check = [&](double v) {
    for (double s : {v, -v}) {
      ASSERT_EQ(GetParam().narrowDouble(s), oracle.narrow(s)) << s;
      ASSERT_EQ(GetParam().narrowFloat(float(s)), oracle.narrow(double(float(s)))) << s;
      for (double n : {std::nextafter(s, INFINITY), std::nextafter(s, -INFINITY)})
        ASSERT_EQ(GetParam().narrowDouble(n), oracle.narrow(n)) << n;
      for (float n : {std::nextafterf(float(s), INFINITY), std::nextafterf(float(s), -INFINITY)})
        if (std::isfinite(n)) {
          ASSERT_EQ(GetParam().narrowFloat(n), oracle.narrow(double(n))) << n;
        }
    }
  };
  const std::vector<double> &values = oracle.values();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    check(values[i]);
    check((values[i] + values[i + 1]) / 2);
  }
  double step = values.back() - values[values.size() - 2];
  for (double v : {values.back(), values.back() + step / 4, values.back() + step / 2, values.back() + step, 2 * values.back(), 1e300,
                   1e-300, 5e-324, 1e-45, double(std::numeric_limits<float>::max()), double(std::numeric_limits<float>::min()), 0.0})
    check(v);
}

TEST_P(NarrowFormat, RandomValuesRoundToNearestEven) {
  Oracle oracle(GetParam());
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    float f = std::bit_cast<float>(uint32_t(random()));
    if (!std::isfinite(f))
      continue;
    ASSERT_EQ(GetParam().narrowFloat(f), oracle.narrow(double(f))) << f;
    // Doubles inside the format's range, with all bits in use.
    double scale = std::ldexp(1.0, int(random() % 40) - 24);
    double d = scale * (1 + double(random() >> 12) * 0x1p-52);
    ASSERT_EQ(GetParam().narrowDouble(d), oracle.narrow(d)) << d;
  }
}

TEST_P(NarrowFormat, SpecialValues) {
  const Spec &s = GetParam();
  for (double nan : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(s.widen(s.narrowDouble(nan))));
    EXPECT_TRUE(std::isnan(s.widen(s.narrowFloat(float(nan)))));
  }
  EXPECT_TRUE(std::isnan(s.widen(s.narrowFloat(std::bit_cast<float>(0x7f800001u))))) << "a signalling NaN with a low payload";
  double largest = Oracle(s).values().back();
  for (double sign : {1.0, -1.0}) {
    double got = s.widen(s.narrowDouble(sign * INFINITY));
    EXPECT_EQ(got, sign * (s.saturates ? largest : INFINITY));
  }
  EXPECT_EQ(s.narrowDouble(-0.0), 1u << (s.bits - 1));
}

INSTANTIATE_TEST_SUITE_P(All, NarrowFormat, testing::ValuesIn(kSpecs), [](const auto &info) { return std::string(info.param.name); });

TEST(NarrowFormats, LargestValues) {
  EXPECT_EQ(fromF8E4M3(toF8E4M3(1e9)), 448.0f);
  EXPECT_EQ(fromF8E5M2(toF8E5M2(-1e9)), -57344.0f);
  EXPECT_EQ(fromF16(toF16(65504.0)), 65504.0f);
  EXPECT_TRUE(std::isinf(fromF16(toF16(65520.0)))) << "the tie goes to the even neighbour, infinity";
  EXPECT_EQ(fromF16(toF16(65519.9)), 65504.0f);
}

// 1 + 2^-8 + 2^-40 lies just above a tie of bf16; going through f32 would land on the tie.
TEST(NarrowFormats, DoubleIsRoundedOnce) {
  double v = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(toBF16(v), 0x3f81);
  EXPECT_EQ(toBF16(float(v)), 0x3f80);
}

TEST(ElementTypes, NamesAndSizes) {
  std::set<std::string> names;
  for (int i = 0; i < kNumElementTypes; ++i) {
    auto t = ElementType(i);
    names.insert(std::string(elementTypeName(t)));
    EXPECT_EQ(findElementType(elementTypeName(t)), t);
    int kinds = isFloat(t) + isSignedInteger(t) + isUnsignedInteger(t) + (t == ElementType::boolean);
    EXPECT_EQ(kinds, 1) << elementTypeName(t);
    // The digits in a name are its width.
    std::string name(elementTypeName(t)), digits;
    for (char c : name.substr(0, name.find('e', 1)))
      if (std::isdigit(c))
        digits += c;
    if (!digits.empty()) {
      EXPECT_EQ(std::to_string(elementBits(t)), digits) << name;
    }
  }
  EXPECT_EQ(names.size(), size_t(kNumElementTypes));
  EXPECT_EQ(elementBits(ElementType::boolean), 8);
  for (const char *bad : {"", "f8", "F32", "f32 ", "int", "f8e4m3fn"})
    EXPECT_EQ(findElementType(bad), std::nullopt) << bad;
}

} // namespace
} // namespace kernelc

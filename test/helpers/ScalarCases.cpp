// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Helpers that compute one value from a few: one thread per value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "test/helpers/Cases.h"

namespace kernelc::helpers {
namespace {

template <class To, class From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// The parts of an elementwise case that are not its inputs.
struct About {
  std::string name;
  int generation;
  std::vector<std::string> helpers;
  std::string expression; ///< over a[i], b[i], c[i], d[i]
  Compare compare = Compare::Bits;
  std::function<double(double)> bound = nullptr; ///< how far off an element may be where this is expected; nothing: not at all
};

/// out[i] = expression; `expect` takes the same values.
template <class F, class... In>
void elementwise(std::vector<HelperCaseMaker> &cases, About about, F expect, std::function<std::vector<In>()>... inputs) {
  HelperCaseMaker maker{about.name, about.generation, about.generation, about.helpers, nullptr};
  maker.make = [=] {
    CaseBuilder builder(maker);
    size_t count = 0;
    char letter = 'a';
    auto run = [&](const std::vector<In> &...values) {
      ((builder.input(std::string(1, letter++), values), count = values.size()), ...);
      std::vector<decltype(expect(values[0]...))> expected;
      for (size_t i = 0; i < count; i++)
        expected.push_back(expect(values[i]...));
      std::vector<double> bound;
      if (about.bound)
        for (auto e : expected)
          bound.push_back(about.bound(double(e)));
      builder.output("out", expected, about.compare, bound);
    };
    run(inputs()...);
    return builder
        .launch("scalar", 256,
                fill("  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < $n$) out[i] = $e$;",
                     {{"n", std::to_string(count)}, {"e", about.expression}}),
                0, int64_t(count + 255) / 256)
        .build();
  };
  cases.push_back(std::move(maker));
}

template <class T> std::function<std::vector<T>()> every() {
  return [] {
    std::vector<T> v(size_t(1) << (8 * sizeof(T)));
    for (size_t i = 0; i < v.size(); i++)
      v[i] = T(i);
    return v;
  };
}
template <class T> std::function<std::vector<T>()> random(unsigned seed) {
  return [seed] { return randomBits<T>(4096, seed); };
}
std::function<std::vector<float>()> floats(unsigned seed, size_t count = 8192) {
  return [=] { return awkwardFloats(count, seed); };
}
std::function<std::vector<double>()> doubles(unsigned seed, size_t count = 8192) {
  return [=] { return awkwardDoubles(count, seed); };
}
/// Pairs that are often equal, or differ in sign only.
template <class T> std::vector<T> partners(std::vector<T> of, std::vector<T> others) {
  for (size_t i = 0; i < of.size(); i++)
    if (i % 4 == 0)
      others[i] = of[i];
    else if (i % 4 == 1)
      others[i] = -of[i];
  return others;
}
template <class T> std::function<std::vector<T>()> divisors(unsigned seed) {
  return [seed] {
    std::vector<T> v = randomBits<T>(4096, seed);
    for (size_t i = 0; i < v.size(); i++) {
      if (i % 2)
        v[i] = T(v[i] % 13);
      if (v[i] == 0 || v[i] == T(-1)) // by zero and of the smallest by -1 are nobody's promise
        v[i] = 3;
    }
    return v;
  };
}

template <class T> T saturated(double v) {
  if (std::isnan(v))
    return 0;
  long double t = std::trunc(static_cast<long double>(v));
  if (t <= static_cast<long double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (t >= static_cast<long double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return T(t);
}

template <class T> T floored(T a, T b) {
  __int128 q = __int128(a) / b, r = __int128(a) % b;
  return T(r != 0 && (r < 0) != (b < 0) ? q - 1 : q);
}

template <class T> T larger(T a, T b, T nan) {
  if (std::isnan(a) || std::isnan(b))
    return nan;
  return a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}

/// Itself up to 2^53, else the multiple of 2^12 below, and half of that more if it is none.
template <class T> double oddOf(T v) {
  constexpr T kExact = T(1) << 53;
  if (v < kExact && (std::is_unsigned_v<T> || v >= T(-kExact)))
    return double(v);
  __int128 multiples = __int128(v) / 4096, rest = __int128(v) % 4096;
  if (rest < 0) {
    multiples -= 1;
    rest += 4096;
  }
  return double(multiples) * 4096 + (rest != 0 ? 2048 : 0);
}
/// Of every length, and those around halves of what narrow floats hold.
template <class T> std::function<std::vector<T>()> wideIntegers(unsigned seed) {
  return [seed] {
    std::vector<T> v = randomBits<T>(4096, seed);
    for (size_t i = 0; i < v.size(); i++) {
      v[i] = T(v[i] >> (i % 64));
      if (i % 3 == 0)
        v[i] = T((v[i] & ~((T(1) << (i % 58)) - 1)) + T(i % 5) - 2);
    }
    return v;
  };
}

float roundedToOdd(double v) {
  if (std::isnan(v))
    return std::numeric_limits<float>::quiet_NaN();
  float r = float(v);
  if (std::fabs(double(r)) > std::fabs(v))
    r = std::nextafter(r, 0.0f);
  return double(r) != v ? bitsAs<float>(bitsAs<uint32_t>(r) | 1u) : r;
}

const uint32_t kNan32 = 0x7fffffff; // what max.NaN, cvt and the like give

void addConversions(std::vector<HelperCaseMaker> &cases) {
  auto toBf16 = [](float v) { return std::isnan(v) ? uint16_t(0x7fff) : toBF16(v); };
  for (int generation : {75, 80})
    elementwise(cases, {"f32_to_bf16_" + std::to_string(generation), generation, {"kc_f32_to_bf16"}, "kc_f32_to_bf16(a[i])"}, toBf16,
                floats(1));
  elementwise(
      cases, {"f32_to_f16", 75, {"kc_f32_to_f16"}, "kc_f32_to_f16(a[i])"},
      [](float v) { return std::isnan(v) ? uint16_t(0x7fff) : toF16(v); }, floats(2));
  elementwise(
      cases, {"bf16_to_f32", 75, {"kc_bf16_to_f32"}, "kc_bf16_to_f32(a[i])"}, [](uint16_t v) { return fromBF16(v); }, every<uint16_t>());
  elementwise(
      cases, {"f16_to_f32", 75, {"kc_f16_to_f32"}, "kc_f16_to_f32(a[i])"},
      [](uint16_t v) { return std::isnan(fromF16(v)) ? bitsAs<float>(kNan32) : fromF16(v); }, every<uint16_t>());
  elementwise(
      cases, {"e4m3_to_f32", 75, {"kc_e4m3_to_f32"}, "kc_e4m3_to_f32(a[i])", Compare::BitsButAnyNan},
      [](uint8_t v) { return fromF8E4M3(v); }, every<uint8_t>());
  elementwise(
      cases, {"e5m2_to_f32", 75, {"kc_e5m2_to_f32"}, "kc_e5m2_to_f32(a[i])", Compare::BitsButAnyNan},
      [](uint8_t v) { return fromF8E5M2(v); }, every<uint8_t>());
  elementwise(
      cases, {"f32_to_f8", 75, {"kc_f32_to_f8"}, "kc_f32_to_f8(a[i], 3, 7, 0x7eu, 0x7fu)"}, [](float v) { return toF8E4M3(v); }, floats(3));
  for (auto [name, generation] : {std::pair{"f32_to_e4m3", 75}, std::pair{"f32_to_e4m3_of_89", 89}})
    elementwise(cases, {name, generation, {"kc_f32_to_e4m3"}, "kc_f32_to_e4m3(a[i])"}, [](float v) { return toF8E4M3(v); }, floats(4));
  elementwise(cases, {"f32_to_e5m2", 75, {"kc_f32_to_e5m2"}, "kc_f32_to_e5m2(a[i])"}, [](float v) { return toF8E5M2(v); }, floats(5));
  elementwise(
      cases, {"round_tf32", 80, {"kc_round_tf32"}, "kc_round_tf32(a[i])"},
      [](uint32_t v) { return (std::isnan(bitsAs<float>(v)) ? v : v + 0x1000u) & ~0x1fffu; }, std::function<std::vector<uint32_t>()>([] {
        std::vector<uint32_t> bits;
        for (float f : awkwardFloats(8192, 6))
          bits.push_back(bitsAs<uint32_t>(f));
        for (uint32_t u : randomBits<uint32_t>(4096, 7)) // ties
          bits.push_back((u & ~0x1fffu) | 0x1000u);
        return bits;
      }));
  elementwise(cases, {"round_odd", 75, {"kc_round_odd"}, "kc_round_odd(a[i])", Compare::BitsButAnyNan}, roundedToOdd, doubles(8));
  elementwise(cases, {"i64_round_odd", 75, {"kc_i64_round_odd"}, "kc_i64_round_odd(a[i])"}, oddOf<int64_t>, wideIntegers<int64_t>(13));
  elementwise(cases, {"u64_round_odd", 75, {"kc_u64_round_odd"}, "kc_u64_round_odd(a[i])"}, oddOf<uint64_t>, wideIntegers<uint64_t>(14));
  elementwise(cases, {"to_i32", 75, {"kc_to_i32"}, "kc_to_i32(a[i])"}, saturated<int32_t>, doubles(9));
  elementwise(cases, {"to_u32", 75, {"kc_to_u32"}, "kc_to_u32(a[i])"}, saturated<uint32_t>, doubles(10));
  elementwise(cases, {"to_i64", 75, {"kc_to_i64"}, "kc_to_i64(a[i])"}, saturated<int64_t>, doubles(11));
  elementwise(cases, {"to_u64", 75, {"kc_to_u64"}, "kc_to_u64(a[i])"}, saturated<uint64_t>, doubles(12));
  elementwise(
      cases, {"clamp_f32_i32", 75, {"kc_clamp_f32_i32"}, "kc_clamp_f32_i32(a[i], b[i], c[i])"},
      [](float v, int32_t low, int32_t high) {
        return std::isnan(v) ? 0 : int32_t(std::min<double>(high, std::max<double>(low, std::trunc(double(v)))));
      },
      floats(13), std::function<std::vector<int32_t>()>([] {
        std::vector<int32_t> low(8192);
        for (size_t i = 0; i < low.size(); i++)
          low[i] = i % 3 ? i % 3 == 1 ? -128 : -32768 : 0;
        return low;
      }),
      std::function<std::vector<int32_t>()>([] {
        std::vector<int32_t> high(8192);
        for (size_t i = 0; i < high.size(); i++)
          high[i] = i % 4 ? i % 4 == 1 ? 127 : 32767 : i % 8 ? 255 : 65535;
        return high;
      }));
}

void addArithmetic(std::vector<HelperCaseMaker> &cases) {
  auto left = floats(14);
  std::function<std::vector<float>()> right = [] { return partners(awkwardFloats(8192, 14), awkwardFloats(8192, 15)); };
  auto rotated = [right] { // NaN beside numbers too
    auto v = right();
    std::rotate(v.begin(), v.begin() + 1, v.end());
    return v;
  };
  for (int generation : {75, 80}) {
    auto compare = generation == 75 ? Compare::BitsButAnyNan : Compare::Bits;
    std::string suffix = "_" + std::to_string(generation);
    auto maximum = [](float a, float b) { return larger(a, b, bitsAs<float>(kNan32)); };
    auto minimum = [](float a, float b) {
      float r = larger(-a, -b, 0.0f);
      return std::isnan(a) || std::isnan(b) ? bitsAs<float>(kNan32) : -r;
    };
    elementwise(cases, {"maximum" + suffix, generation, {"kc_maximum"}, "kc_maximum(a[i], b[i])", compare}, maximum, left, right);
    elementwise(cases, {"minimum" + suffix, generation, {"kc_minimum"}, "kc_minimum(a[i], b[i])", compare}, minimum, left, right);
    elementwise(cases, {"maximum_beside_nan" + suffix, generation, {"kc_maximum"}, "kc_maximum(a[i], b[i])", compare}, maximum, left,
                std::function<std::vector<float>()>(rotated));
  }
  auto left64 = doubles(16);
  std::function<std::vector<double>()> right64 = [] { return partners(awkwardDoubles(8192, 16), awkwardDoubles(8192, 17)); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  elementwise(
      cases, {"maximum_f64", 75, {"kc_maximum_f64"}, "kc_maximum_f64(a[i], b[i])", Compare::BitsButAnyNan},
      [=](double a, double b) { return larger(a, b, nan); }, left64, right64);
  elementwise(
      cases, {"minimum_f64", 75, {"kc_minimum_f64"}, "kc_minimum_f64(a[i], b[i])", Compare::BitsButAnyNan},
      [=](double a, double b) { return -larger(-a, -b, nan); }, left64, right64);
  elementwise(
      cases, {"infinity", 75, {"kc_infinity"}, "a[i] > b[i] ? kc_infinity() : -kc_infinity()"},
      [](float a, float b) { return a > b ? bitsAs<float>(0x7f800000u) : bitsAs<float>(0xff800000u); }, left, right);
  elementwise(
      cases, {"infinity_f64", 75, {"kc_infinity_f64"}, "a[i] > b[i] ? kc_infinity_f64() : -kc_infinity_f64()"},
      [](double a, double b) { return a > b ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity(); }, left64,
      right64);
  elementwise(cases, {"floordiv_i32", 75, {"kc_floordiv"}, "kc_floordiv<int>(a[i], b[i])"}, floored<int32_t>, random<int32_t>(18),
              divisors<int32_t>(19));
  elementwise(cases, {"floordiv_i64", 75, {"kc_floordiv"}, "kc_floordiv<long long>(a[i], b[i])"}, floored<int64_t>, random<int64_t>(20),
              divisors<int64_t>(21));
  elementwise(
      cases, {"ceildiv_i32", 75, {"kc_ceildiv"}, "kc_ceildiv<int>(a[i], b[i])"},
      [](int32_t a, int32_t b) { return int32_t(-floored<int64_t>(-int64_t(a), b)); }, random<int32_t>(22), divisors<int32_t>(23));
  elementwise(
      cases, {"ceildiv_i64", 75, {"kc_ceildiv"}, "kc_ceildiv<long long>(a[i], b[i])"},
      [](int64_t a, int64_t b) { return a % b ? floored(a, b) + 1 : a / b; }, random<int64_t>(24), divisors<int64_t>(25));
}

void addFunctions(std::vector<HelperCaseMaker> &cases) {
  auto between = [](float low, float high, unsigned seed) {
    return std::function<std::vector<float>()>([=] {
      std::vector<float> v = uniform(16384, seed);
      for (float &x : v)
        x = low + (high - low) * (x + 1) / 2;
      std::vector<float> awkward = awkwardFloats(256, seed);
      v.insert(v.end(), awkward.begin(), awkward.end());
      return v;
    });
  };
  elementwise(
      cases, {"exp2", 75, {"kc_exp2"}, "kc_exp2(a[i])", Compare::BitsButAnyNan, [](double e) { return 0x1p-22 * e + 0x1p-126; }},
      [](float v) { return float(std::exp2(double(v))); }, between(-140, 130, 34));
  // Right to the last bit, but where what is left of x is too small for a float.
  auto ofTiny = [](double e) { return std::fabs(e) < 0x1p-100 ? 0x1p-123 : 0.0; };
  elementwise(
      cases, {"divide_by_30", 75, {"kc_divide_by"}, "kc_divide_by(a[i], 30.0f)", Compare::BitsButAnyNan, ofTiny},
      [](float v) { return v / 30.0f; }, floats(37));
  elementwise(
      cases, {"divide_by_pi", 75, {"kc_divide_by"}, "kc_divide_by(a[i], 3.14159274f)", Compare::BitsButAnyNan, ofTiny},
      [](float v) { return v / 3.14159274f; }, floats(38));
  elementwise(
      cases,
      {"reciprocal", 75, {"kc_reciprocal"}, "kc_reciprocal(a[i])", Compare::BitsButAnyNan, [](double e) { return 0x1p-23 * e + 0x1p-126; }},
      [](float v) { return float(1 / double(v)); }, between(1, 1000, 39));
  elementwise(
      cases, {"tanh", 75, {"kc_tanh"}, "kc_tanh(a[i])", Compare::BitsButAnyNan, [](double) { return 0x1p-21; }},
      [](float v) { return float(std::tanh(double(v))); }, between(-100, 100, 40));
  elementwise(
      cases, {"tanh_near_0", 75, {"kc_tanh"}, "kc_tanh(a[i])", Compare::BitsButAnyNan, [](double) { return 0x1p-21; }},
      [](float v) { return float(std::tanh(double(v))); }, between(-2, 2, 41));
  elementwise(
      cases, {"erfc", 75, {"kc_erfc"}, "kc_erfc(a[i])", Compare::BitsButAnyNan, [](double) { return 0x1p-22; }},
      [](float v) { return float(std::erfc(double(v))); }, between(-12, 12, 35));
  elementwise(
      cases, {"erfc_near_0", 75, {"kc_erfc"}, "kc_erfc(a[i])", Compare::BitsButAnyNan, [](double) { return 0x1p-22; }},
      [](float v) { return float(std::erfc(double(v))); }, between(-1, 1, 36));
}

void addPacking(std::vector<HelperCaseMaker> &cases) {
  elementwise(
      cases, {"pack_8", 75, {"kc_pack_8"}, "kc_pack_8(a[i], b[i], c[i], d[i])"},
      [](uint8_t a, uint8_t b, uint8_t c, uint8_t d) { return uint32_t(a) + 256u * b + 65536u * c + 16777216u * d; }, random<uint8_t>(26),
      random<uint8_t>(27), random<uint8_t>(28), random<uint8_t>(29));
  elementwise(
      cases, {"pack_16", 75, {"kc_pack_16"}, "kc_pack_16(a[i], b[i])"}, [](uint16_t a, uint16_t b) { return uint32_t(a) + 65536u * b; },
      random<uint16_t>(30), random<uint16_t>(31));
  HelperCaseMaker deal{"deal_bytes", 75, 75, {"kc_deal_bytes"}, nullptr};
  deal.make = [deal] {
    auto x = randomBits<uint32_t>(256, 32), y = randomBits<uint32_t>(256, 33), even = x, odd = y;
    for (size_t i = 0; i < x.size(); i++) {
      auto byte = [&](int n) { return (n < 4 ? x[i] >> 8 * n : y[i] >> 8 * (n - 4)) & 255u; };
      even[i] = odd[i] = 0;
      for (int n = 0; n < 4; n++) {
        even[i] |= byte(2 * n) << 8 * n;
        odd[i] |= byte(2 * n + 1) << 8 * n;
      }
    }
    return CaseBuilder(deal)
        .input("x", x)
        .input("y", y)
        .output("even", even)
        .output("odd", odd)
        .launch("deal", 256,
                "  unsigned u = x[threadIdx.x], v = y[threadIdx.x];\n  kc_deal_bytes(u, v);\n"
                "  even[threadIdx.x] = u, odd[threadIdx.x] = v;")
        .build();
  };
  cases.push_back(deal);
}

} // namespace

void addScalarCases(std::vector<HelperCaseMaker> &cases) {
  addConversions(cases);
  addArithmetic(cases);
  addFunctions(cases);
  addPacking(cases);
}

} // namespace kernelc::helpers

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bound of sums of f8 products against a model of the unit that takes them: it aligns 32 products and its
// accumulator to the largest of them and keeps 13 bits of fraction.
#include <algorithm>
#include <limits>

#include "reference/Combine.h"
#include "support/ElementType.h"
#include "support/Target.h"
#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

/// `v` without what lies below 2^-13 of 2^exponent.
double cut(double v, int exponent) { return std::ldexp(std::trunc(std::ldexp(v, 13 - exponent)), exponent - 13); }

/// One instruction.
double addInFewBits(double accumulator, const double *products) {
  double largest = std::fabs(accumulator);
  for (int i = 0; i < 32; ++i)
    largest = std::max(largest, std::fabs(products[i]));
  if (largest == 0)
    return 0;
  double sum = cut(accumulator, std::ilogb(largest));
  for (int i = 0; i < 32; ++i)
    sum += cut(products[i], std::ilogb(largest));
  return sum == 0 ? 0 : cut(sum, std::ilogb(sum));
}

/// Rows of products summed by the unit, which hands `kept` products at a time to an f32.
double sumOf(const std::vector<double> &products, size_t kept) {
  float sum = 0;
  for (size_t k = 0; k < products.size(); k += kept) {
    double part = 0;
    for (size_t j = k; j < std::min(k + kept, products.size()); j += 32)
      part = addInFewBits(part, &products[j]);
    sum += float(part);
  }
  return sum;
}

struct Sums {
  int64_t rows, terms;
  std::vector<uint8_t> a, b;
  std::vector<double> f64, bound;
  std::vector<std::vector<double>> products;
};

std::string text(bool fast) {
  return std::string(
             "te.kernel @f sizes [\"M\", \"K\"] args [\"a\", \"b\"] : [\"f8e4m3\", \"f8e4m3\"] [affine_map<()[s0, s1] -> (s0, s1)>, "
             "affine_map<()[s0, s1] -> (s0, s1)>] outs [\"y\"] : [\"f32\"] [affine_map<()[s0, s1] -> (s0)>]") +
         (fast ? " attributes {fast_accumulate}" : "") +
         " {\n^bb0(%a: tensor<?x?xf8E4M3FN>, %b: tensor<?x?xf8E4M3FN>):\n"
         "%y = te.reduce sum [\"i\", \"k\"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {\n^bb0(%i: index, %k: index):\n"
         "%u = te.read %a[%i, %k] : tensor<?x?xf8E4M3FN>\n%v = te.read %b[%i, %k] : tensor<?x?xf8E4M3FN>\n"
         "%x = arith.extf %u : f8E4M3FN to f32\n%z = arith.extf %v : f8E4M3FN to f32\n%p = arith.mulf %x, %z : f32\nte.yield %p : f32\n"
         "} {name = \"y\"} : tensor<?xf32>\nte.return %y : tensor<?xf32>\n}";
}

/// Rows of several kinds: mixed signs, one sign, a few large among small, sums that cancel.
Sums makeSums(int64_t terms, bool fast) {
  Sums s{24, terms, {}, {}, {}, {}, {}};
  for (int64_t i = 0; i < s.rows; ++i) {
    s.products.emplace_back();
    for (int64_t k = 0; k < terms; ++k) {
      int at = int(i * terms + k);
      float x = noise(at), y = noise(at + 1000003);
      if (i % 4 == 1)
        x = std::fabs(x), y = std::fabs(y);
      if (i % 4 == 2)
        x = k % 61 == 0 ? 448.0f : x / 16, y = std::fabs(y);
      if (i % 4 == 3)
        x = k % 2 ? 1.0f : -1.0f, y = 0.75f + std::fabs(y) / 4;
      s.a.push_back(toF8E4M3(x));
      s.b.push_back(toF8E4M3(y));
      s.products.back().push_back(double(fromF8E4M3(s.a.back())) * fromF8E4M3(s.b.back()));
    }
  }
  auto oracle = mustCompile(text(fast), Arithmetic::F64WithError);
  s.f64.resize(size_t(s.rows));
  s.bound.resize(size_t(s.rows));
  auto tensor = [&](std::vector<uint8_t> &v) { return TensorView{v.data(), ElementType::f8e4m3, {s.rows, terms}, {terms, 1}}; };
  auto status = oracle->run({s.rows, terms}, {tensor(s.a), tensor(s.b)}, {view(s.f64, {s.rows})}, nullptr, {view(s.bound, {s.rows})});
  EXPECT_TRUE(status.ok()) << status;
  return s;
}

TEST(Float8Sums, TheUnitIsWithinItsBound) {
  for (int64_t terms : {32, 96, 128, 160, 1024, 8192})
    for (bool fast : {false, true}) {
      Sums s = makeSums(terms, fast);
      for (int64_t i = 0; i < s.rows; ++i)
        for (size_t kept : {32, 64, 128, 8192})
          if (fast || kept <= 128) {
            double device = sumOf(s.products[size_t(i)], kept);
            EXPECT_LE(std::fabs(device - s.f64[size_t(i)]), s.bound[size_t(i)]) << "row " << i << " of " << terms << ", " << kept;
          }
    }
}

// What was promised is kept by promotion alone: a unit that goes on adding leaves the bound.
TEST(Float8Sums, PromotionIsNeeded) {
  Sums s = makeSums(8192, false);
  int outside = 0;
  for (int64_t i = 0; i < s.rows; ++i)
    outside += std::fabs(sumOf(s.products[size_t(i)], 8192) - s.f64[size_t(i)]) > s.bound[size_t(i)];
  EXPECT_GE(outside, 6);
}

TEST(Float8Sums, ALostTileIsOutside) {
  for (int64_t terms : {1024, 4096}) {
    Sums s = makeSums(terms, false);
    for (int64_t i = 1; i < s.rows; i += 4) { // of one sign
      std::vector<double> products = s.products[size_t(i)];
      std::fill(products.begin() + terms / 2, products.begin() + terms / 2 + 128, 0);
      EXPECT_GT(std::fabs(sumOf(products, 128) - s.f64[size_t(i)]), s.bound[size_t(i)]) << terms;
    }
  }
}

// The rule holds for every target: none keeps more products than it says.
TEST(Float8Sums, TargetsPromoteInTime) {
  for (const Target &t : allTargets())
    EXPECT_LE(t.promoteAfter, SumUnit::kKept) << t.name;
}

} // namespace
} // namespace kernelc::reference

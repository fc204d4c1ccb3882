// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands of matrix units in tests: their bits, their values, and what a sum of
// products may be off by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "support/ElementType.h"

namespace kernelc::helpers {

enum class Narrow { Bf16, F16, Tf32, E4M3, E5M2, S8, U8 };

inline int narrowBytes(Narrow n) { return n == Narrow::Tf32 ? 4 : n == Narrow::Bf16 || n == Narrow::F16 ? 2 : 1; }
inline bool isInteger(Narrow n) { return n == Narrow::S8 || n == Narrow::U8; }

/// Random operands. Exact: whole numbers in [-4, 4], whose sums of products no unit
/// rounds (for integers any byte, since their sums wrap). Else values in [-1, 1].
/// tf32 carries junk in the 13 bits that the unit ignores.
class NarrowSource {
public:
  struct Operand {
    uint32_t bits;
    double value;
  };
  NarrowSource(Narrow type, bool exact, unsigned seed) : type_(type), exact_(exact), random_(seed) {}
  Operand next() {
    float v = exact_ ? float(int(random_() % 9) - 4) : float(int32_t(random_())) * 0x1p-31f;
    uint32_t bits = 0;
    switch (type_) {
    case Narrow::Bf16: return {toBF16(v), fromBF16(toBF16(v))};
    case Narrow::F16: return {toF16(v), fromF16(toF16(v))};
    case Narrow::E4M3: return {toF8E4M3(v), fromF8E4M3(toF8E4M3(v))};
    case Narrow::E5M2: return {toF8E5M2(v), fromF8E5M2(toF8E5M2(v))};
    case Narrow::S8: bits = random_() & 255; return {bits, double(int8_t(bits))};
    case Narrow::U8: bits = random_() & 255; return {bits, double(bits)};
    case Narrow::Tf32: break;
    }
    std::memcpy(&bits, &v, 4);
    bits &= ~0x1fffu;
    std::memcpy(&v, &bits, 4);
    return {bits | uint32_t(random_() & 0x1fffu), v};
  }

private:
  Narrow type_;
  bool exact_;
  std::mt19937 random_;
};

/// One element of a product. Matrix units align every product and the accumulator
/// to the largest of them and cut what lies below, then round or cut the sum. They
/// keep 24 bits or more for f32 sums, but 13 fraction bits for f8 on sm_90.
struct DotProduct {
  double sum, largest;
  int terms = 1;
  Narrow type;
  DotProduct(double accumulator, Narrow type) : sum(accumulator), largest(std::fabs(accumulator)), type(type) {}
  void add(double a, double b) {
    sum += a * b;
    largest = std::max(largest, std::fabs(a * b));
    terms++;
  }
  /// Largest absolute error of the unit; each term is cut by at most one unit of the
  /// last kept place, and so is the sum, which is at most terms * largest.
  double bound() const {
    int kept = type == Narrow::E4M3 || type == Narrow::E5M2 ? 13 : 23;
    return 2.0 * terms * largest * std::ldexp(1.0, 1 - kept);
  }
};

} // namespace kernelc::helpers

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Overlap of strided tensors, against a slow oracle that marks every bit.
#include "runtime/DeviceTensor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace kernelc {
namespace {

DeviceTensor at(uintptr_t address, ElementType type, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  return {reinterpret_cast<void *>(address), type, std::move(shape), std::move(strides), 0};
}

void forEachBit(const DeviceTensor &t, const std::function<void(int64_t)> &visit) {
  std::vector<int64_t> index(t.shape.size(), 0);
  if (std::count(t.shape.begin(), t.shape.end(), 0))
    return;
  while (true) {
    int64_t bit = int64_t(reinterpret_cast<uintptr_t>(t.data)) * 8;
    for (size_t d = 0; d < index.size(); ++d)
      bit += index[d] * t.strides[d] * elementBits(t.type);
    for (int b = 0; b < elementBits(t.type); ++b)
      visit(bit + b);
    size_t d = index.size();
    while (d-- > 0) {
      if (++index[d] < t.shape[d])
        break;
      index[d] = 0;
    }
    if (d == size_t(-1))
      return;
  }
}

bool slowOverlap(const DeviceTensor &a, const DeviceTensor &b) {
  std::map<int64_t, int> bits;
  bool found = false;
  forEachBit(a, [&](int64_t bit) { bits[bit] = 1; });
  forEachBit(b, [&](int64_t bit) { found |= bits.count(bit) > 0; });
  return found;
}

bool slowSelfOverlap(const DeviceTensor &t) {
  std::map<int64_t, int> bits;
  bool found = false;
  forEachBit(t, [&](int64_t bit) { found |= ++bits[bit] > 1; });
  return found;
}

TEST(Overlap, RandomTensorsAgreeWithTheOracle) {
  std::mt19937 random(7);
  auto draw = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  const ElementType types[] = {ElementType::i4, ElementType::u8, ElementType::f16, ElementType::f32};
  int overlapping = 0, self = 0, rounds = 4000;
  for (int i = 0; i < rounds; ++i) {
    auto make = [&] {
      ElementType type = types[draw(0, 3)];
      std::vector<int64_t> shape, strides;
      for (int d = draw(0, 3); d > 0; --d) {
        shape.push_back(draw(0, 5) ? draw(1, 5) : 0);
        strides.push_back(draw(-12, 12));
      }
      int bytes = std::max(1, elementBits(type) / 8);
      return at(4096 + bytes * draw(0, 60), type, shape, strides);
    };
    DeviceTensor a = make(), b = make();
    overlapping += slowOverlap(a, b);
    self += slowSelfOverlap(a);
    ASSERT_EQ(mayOverlap(a, b), slowOverlap(a, b)) << "round " << i;
    ASSERT_EQ(mayOverlap(b, a), slowOverlap(a, b)) << "round " << i;
    ASSERT_EQ(mayOverlapItself(a), slowSelfOverlap(a)) << "round " << i;
  }
  EXPECT_GT(overlapping, rounds / 10) << "the generator must hit both answers";
  EXPECT_LT(overlapping, rounds * 9 / 10);
  EXPECT_GT(self, rounds / 20);
}

TEST(Overlap, InterleavedColumnsOfOneBuffer) {
  // Left and right halves of the rows of one [1024, 8192] buffer.
  DeviceTensor left = at(1 << 20, ElementType::bf16, {1024, 4096}, {8192, 1});
  DeviceTensor right = at((1 << 20) + 8192, ElementType::bf16, {1024, 4096}, {8192, 1});
  EXPECT_FALSE(mayOverlap(left, right));
  right.shape[1] = 4097;
  EXPECT_TRUE(mayOverlap(left, right)) << "one column wraps into the next row";
}

TEST(Overlap, EvenAndOddElements) {
  DeviceTensor even = at(4096, ElementType::f32, {1 << 20}, {2}), odd = at(4100, ElementType::f32, {1 << 20}, {2});
  EXPECT_FALSE(mayOverlap(even, odd));
  EXPECT_TRUE(mayOverlap(even, even));
}

TEST(Overlap, NibblesOfOneByte) {
  DeviceTensor low = at(4096, ElementType::i4, {8}, {2});
  EXPECT_TRUE(mayOverlap(low, at(4097, ElementType::i4, {8}, {2})));
  EXPECT_FALSE(mayOverlapItself(at(4096, ElementType::i4, {8}, {1})));
}

TEST(Overlap, ReversedAndBroadcast) {
  EXPECT_FALSE(mayOverlapItself(at(8192, ElementType::f32, {4, 4}, {-4, -1})));
  EXPECT_TRUE(mayOverlapItself(at(8192, ElementType::f32, {4, 4}, {0, 1})));
  EXPECT_FALSE(mayOverlapItself(at(8192, ElementType::f32, {1, 4}, {0, 1})));
}

TEST(Scalars, EncodeInTheirOwnType) {
  EXPECT_EQ(ScalarValue::fromDouble(ElementType::f32, 1.0)->bits, 0x3f800000u);
  EXPECT_EQ(ScalarValue::fromDouble(ElementType::bf16, 1.0)->bits, 0x3f80u);
  EXPECT_EQ(ScalarValue::fromDouble(ElementType::f64, 1.0)->bits, 0x3ff0000000000000u);
  EXPECT_EQ(ScalarValue::fromInt(ElementType::i8, -1)->bits, 0xffu);
  EXPECT_EQ(ScalarValue::fromInt(ElementType::i64, -1)->bits, ~uint64_t(0));
  EXPECT_EQ(ScalarValue::fromDouble(ElementType::i32, 7.0)->bits, 7u);
  EXPECT_EQ(ScalarValue::fromInt(ElementType::boolean, 1)->bits, 1u);
  EXPECT_EQ(ScalarValue::fromInt(ElementType::u8, 256).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ScalarValue::fromInt(ElementType::u64, -1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ScalarValue::fromUnsigned(ElementType::u64, ~uint64_t(0))->bits, ~uint64_t(0));
  EXPECT_EQ(ScalarValue::fromUnsigned(ElementType::u8, 7)->bits, 7u);
  EXPECT_EQ(ScalarValue::fromUnsigned(ElementType::f32, uint64_t(1) << 63)->bits, 0x5f000000u);
  EXPECT_EQ(ScalarValue::fromUnsigned(ElementType::i64, uint64_t(1) << 63).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ScalarValue::fromInt(ElementType::boolean, 2).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ScalarValue::fromDouble(ElementType::i32, 0.5).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ScalarValue::fromDouble(ElementType::i64, NAN).status().code(), absl::StatusCode::kOutOfRange);
}

} // namespace
} // namespace kernelc

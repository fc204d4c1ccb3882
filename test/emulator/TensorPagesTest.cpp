// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pages of strided tensors against every element's own.
#include "emulator/TensorPages.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace kernelc::emulator {
namespace {

constexpr int64_t kPage = 4096;

/// Pages, by address, that hold a byte of an element.
std::set<int64_t> pagesByElement(const TensorView &v) {
  std::set<int64_t> pages;
  std::vector<int64_t> at(v.shape.size(), 0);
  for (int64_t n = 0; n < v.numElements(); n++) {
    int64_t element = 0;
    for (size_t d = 0; d < at.size(); d++)
      element += at[d] * v.strides[d];
    int64_t bits = elementBits(v.type), first = element * bits, last = first + bits - 1;
    int64_t base = int64_t(reinterpret_cast<uintptr_t>(v.data));
    for (int64_t byte : {first >> 3, last >> 3})
      pages.insert((base + byte) / kPage);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == v.shape[d];)
      at[d] = 0;
  }
  return pages;
}

TEST(TensorPages, AreThoseOfTheElements) {
  std::mt19937_64 random(11);
  const int64_t strides[] = {0, 1, 2, 7, 512, 1000, 1024, 1025, 4096, 5000, 1 << 20, (int64_t(1) << 31) + 17, int64_t(1) << 33};
  for (int round = 0; round < 600; round++) {
    TensorView v;
    v.type = std::array{ElementType::f32, ElementType::u8, ElementType::f64, ElementType::i4}[random() % 4];
    v.data = reinterpret_cast<void *>((uintptr_t(1) << 45) + random() % 5000 * 8);
    for (uint64_t d = random() % 4; d > 0; d--) {
      v.shape.push_back(int64_t(random() % 12));
      v.strides.push_back(strides[random() % std::size(strides)] * (random() % 4 || v.type == ElementType::i4 ? 1 : -1));
    }
    ByteRange span = spanOf(v);
    auto ranges = pagesOf(v);
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    std::set<int64_t> expected = pagesByElement(v), got;
    int64_t base = int64_t(reinterpret_cast<uintptr_t>(v.data)), before = std::numeric_limits<int64_t>::min();
    for (const ByteRange &r : *ranges) {
      EXPECT_GT(r.low, before);
      EXPECT_GE(r.low, span.low);
      EXPECT_LE(r.high, span.high);
      EXPECT_GT(r.size(), 0);
      before = r.high;
      for (int64_t page = (base + r.low) / kPage; page <= (base + r.high - 1) / kPage; page++)
        got.insert(page);
    }
    EXPECT_EQ(got, expected) << round;
  }
}

TEST(TensorPages, WindowsThatOverlapAreOneRange) {
  // 2^20 windows of 2^20 elements: 2^40 elements in 8 MiB.
  int64_t n = 1 << 20;
  TensorView v{reinterpret_cast<void *>(uintptr_t(1) << 45), ElementType::f32, {n, n}, {1, 1}};
  auto ranges = pagesOf(v);
  ASSERT_TRUE(ranges.ok());
  ASSERT_EQ(ranges->size(), 1u);
  EXPECT_EQ((*ranges)[0].size(), (2 * n - 1) * 4);
  // The same of rows a page apart.
  v.strides = {2048, 2048};
  ranges = pagesOf(v);
  ASSERT_TRUE(ranges.ok());
  EXPECT_EQ(ranges->size(), size_t(2 * n - 1));
}

TEST(TensorPages, OfTooManyRowsAreRefused) {
  TensorView v{reinterpret_cast<void *>(uintptr_t(1) << 45), ElementType::u8, {1 << 13, 1 << 13}, {1 << 13, (1 << 26) + 8192 * 3}};
  EXPECT_EQ(pagesOf(v).status().code(), absl::StatusCode::kResourceExhausted);
}

} // namespace
} // namespace kernelc::emulator

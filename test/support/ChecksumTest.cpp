// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damage that the cache and its readers must notice.
#include "support/Checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kernelc {
namespace {

TEST(Checksum, IsTheSameEverywhere) {
  EXPECT_EQ(checksumOf("kernelc"), checksumOf(std::string("kernelc")));
  EXPECT_NE(checksumOf("kernelc"), checksumOf("kernelC"));
}

TEST(Checksum, EveryFlippedBitShows) {
  for (size_t length : {1, 7, 8, 31, 32, 33, 100}) {
    std::string bytes(length, '\0');
    for (size_t i = 0; i < length; ++i)
      bytes[i] = char(i * 37);
    Checksum good = checksumOf(bytes);
    for (size_t i = 0; i < length * 8; ++i) {
      bytes[i / 8] ^= char(1 << i % 8);
      EXPECT_NE(checksumOf(bytes), good) << length << " bytes, bit " << i;
      bytes[i / 8] ^= char(1 << i % 8);
    }
  }
}

// Zeros at the end, and pieces that changed places.
TEST(Checksum, LengthAndOrderCount) {
  std::set<Checksum> seen;
  for (size_t length = 0; length < 200; ++length)
    EXPECT_TRUE(seen.insert(checksumOf(std::string(length, '\0'))).second) << length;
  std::string a(64, 'a'), b(64, 'b');
  EXPECT_NE(checksumOf(a + b), checksumOf(b + a));
  std::string words = "01234567abcdefgh", swapped = "abcdefgh01234567";
  EXPECT_NE(checksumOf(words), checksumOf(swapped));
}

} // namespace
} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Checksum.h"

#include <bit>
#include <cstring>

namespace kernelc {
namespace {

// Odd numbers with no pattern: fractional bits of the golden ratio and of the square root of 2.
constexpr uint64_t kWord = 0x9e3779b97f4a7c15, kState = 0x6a09e667f3bcc909;

/// One to one in each of its arguments.
uint64_t step(uint64_t state, uint64_t word) { return std::rotl(state ^ (word * kWord), 29) * kState + 1; }

uint64_t wordAt(const char *p) {
  uint64_t w;
  std::memcpy(&w, p, 8);
  return std::endian::native == std::endian::little ? w : __builtin_bswap64(w);
}

} // namespace

Checksum checksumOf(absl::string_view bytes) {
  uint64_t sums[4] = {1, 2, 3, 4};
  const char *p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 32; p += 32, left -= 32)
    for (int i = 0; i < 4; ++i)
      sums[i] = step(sums[i], wordAt(p + 8 * i));
  char tail[32] = {};
  if (left)
    std::memcpy(tail, p, left);
  for (int i = 0; i < 4; ++i)
    sums[i] = step(sums[i], wordAt(tail + 8 * i));
  uint64_t low = bytes.size(), high = kWord;
  for (uint64_t s : sums) {
    low = step(low, s);
    high = step(high, std::rotl(s, 32));
  }
  Checksum out;
  for (int i = 0; i < 8; ++i) {
    out[i] = uint8_t(low >> (8 * i));
    out[8 + i] = uint8_t(high >> (8 * i));
  }
  return out;
}

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/StableHash.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/escaping.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernelc {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__x86_64__)
/// By the processor's own instructions, which take a fifth of the time: four rounds at a time, the state as they want it.
__attribute__((target("sha,sse4.1"))) void blocksByProcessor(uint32_t *state, const uint8_t *p, size_t count) {
  const __m128i swapBytes = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto *words = reinterpret_cast<__m128i *>(state);
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1), efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count; --count, p += 64) {
    const __m128i abefBefore = abef, cdghBefore = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p) + i), swapBytes);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i terms = _mm_add_epi32(w[i % 4], _mm_loadu_si128(reinterpret_cast<const __m128i *>(kRound) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, terms);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(terms, 0x0e));
      const __m128i last = w[(i + 3) % 4];
      const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
      w[i % 4] = _mm_sha256msg2_epu32(sum, last); // of the last four rounds nobody reads it
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#endif

void blockByWords(uint32_t *state, const uint8_t *p) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    uint32_t word;
    std::memcpy(&word, p + 4 * i, 4);
    w[i] = std::endian::native == std::endian::little ? __builtin_bswap32(word) : word;
  }
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  // Eight rounds at a time, in which the variables change places instead of values: the
  // cache's keys and checksums are most of what a hit costs.
  auto round = [&](uint32_t a, uint32_t b, uint32_t c, uint32_t &d, uint32_t e, uint32_t f, uint32_t g, uint32_t &h, int i)
                   __attribute__((always_inline)) {
                     uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
                     uint32_t t1 = h + s1 + (g ^ (e & (f ^ g))) + kRound[i] + w[i];
                     uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
                     d += t1;
                     h = t1 + s0 + ((a & b) | (c & (a | b)));
                   };
  for (int i = 0; i < 64; i += 8) {
    round(a, b, c, d, e, f, g, h, i);
    round(h, a, b, c, d, e, f, g, i + 1);
    round(g, h, a, b, c, d, e, f, i + 2);
    round(f, g, h, a, b, c, d, e, i + 3);
    round(e, f, g, h, a, b, c, d, i + 4);
    round(d, e, f, g, h, a, b, c, i + 5);
    round(c, d, e, f, g, h, a, b, i + 6);
    round(b, c, d, e, f, g, h, a, i + 7);
  }
  const uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += add[i];
}

} // namespace

void Sha256::blocks(const uint8_t *p, size_t count) {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1");
  if (has)
    return blocksByProcessor(state_.data(), p, count);
#endif
  for (; count; --count, p += 64)
    blockByWords(state_.data(), p);
}

Sha256 &Sha256::update(absl::string_view bytes) {
  size_t used = length_ % 64;
  length_ += bytes.size();
  const auto *p = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t left = bytes.size();
  if (used) {
    size_t take = std::min(left, 64 - used);
    std::memcpy(buffer_.data() + used, p, take);
    p += take, left -= take;
    if (used + take < 64)
      return *this;
    blocks(buffer_.data(), 1);
  }
  blocks(p, left / 64);
  p += left / 64 * 64;
  left %= 64;
  if (left)
    std::memcpy(buffer_.data(), p, left);
  return *this;
}

Sha256::Digest Sha256::finish() {
  uint64_t bits = length_ * 8;
  const char pad[64] = {char(0x80)};
  size_t used = length_ % 64;
  update(absl::string_view(pad, used < 56 ? 56 - used : 120 - used));
  char size[8];
  for (int i = 0; i < 8; ++i)
    size[i] = char(bits >> (56 - 8 * i));
  update(absl::string_view(size, 8));
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = uint8_t(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string toHex(const Sha256::Digest &digest) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char *>(digest.data()), digest.size()));
}

StableHash &StableHash::add(absl::string_view field) {
  add(static_cast<int64_t>(field.size()));
  hash_.update(field);
  return *this;
}

StableHash &StableHash::add(int64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i)
    bytes[i] = char(static_cast<uint64_t>(value) >> (8 * i));
  hash_.update(absl::string_view(bytes, 8));
  return *this;
}

} // namespace kernelc

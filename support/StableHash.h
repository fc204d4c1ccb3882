// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHA-256, and keys made of named parts: hashes that are the same on every machine,
// in every process and build. For cache keys and checksums; not for hash tables.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kernelc {

/// FIPS 180-4 SHA-256 over bytes given in pieces.
class Sha256 {
public:
  static constexpr size_t kBytes = 32;
  using Digest = std::array<uint8_t, kBytes>;

  Sha256 &update(absl::string_view bytes);
  /// Ends the message; the object must not be used after.
  Digest finish();

  static Digest of(absl::string_view bytes) { return Sha256().update(bytes).finish(); }

private:
  void blocks(const uint8_t *p, size_t count);
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> buffer_{};
  uint64_t length_ = 0;
};

/// 64 lower-case hexadecimal digits.
std::string toHex(const Sha256::Digest &digest);

/// A hash over a sequence of fields. Fields are framed by their lengths, so that
/// ("ab", "c") and ("a", "bc") differ.
class StableHash {
public:
  StableHash &add(absl::string_view field);
  StableHash &add(int64_t value);
  std::string hex() { return toHex(hash_.finish()); }

private:
  Sha256 hash_;
};

} // namespace kernelc

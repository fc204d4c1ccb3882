// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix descriptors of wgmma, decoded from their bits: where in shared memory an
// element lies (reference/hopper.md 1.4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernelc::emulator {

/// A matrix descriptor, taken apart.
struct MatrixDescriptor {
  size_t start, lbo, sbo;
  int span; ///< swizzle in bytes, 0 for none
  explicit MatrixDescriptor(uint64_t bits) : start((bits & 0x3fff) << 4), lbo((bits >> 16 & 0x3fff) << 4), sbo((bits >> 32 & 0x3fff) << 4) {
    const int spans[4] = {0, 128, 64, 32};
    span = spans[bits >> 62];
  }
  /// Offset of the 16-byte chunk that holds element (mn, k), and the byte in it.
  size_t offset(int mn, int k, int bytes, bool mnMajor) const {
    size_t at;
    if (!mnMajor) {
      size_t chunk = size_t(k * bytes) / 16, in = size_t(k * bytes) % 16;
      at = span ? start + size_t(mn / 8) * sbo + size_t(mn % 8) * size_t(span) + chunk * 16 + in
                : start + size_t(mn / 8) * sbo + chunk * lbo + size_t(mn % 8) * 16 + in;
    } else if (span) {
      int panel = span / bytes;
      at = start + size_t(mn / panel) * lbo + size_t(mn % panel * bytes) + size_t(k % 8) * size_t(span) + size_t(k / 8) * sbo;
    } else {
      at = start + size_t(mn / 8) * sbo + size_t(mn % 8 * bytes) + size_t(k % 8) * 16 + size_t(k / 8) * lbo;
    }
    size_t mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
    return at ^ ((at >> 7 & mask) << 4);
  }
};

} // namespace kernelc::emulator

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See MatrixProduct.h. Narrow floats go through tables, filled by the conversions
// every part of kernelc shares.
#include "emulator/MatrixProduct.h"

#include <array>
#include <cstring>
#include <vector>

#include "support/ElementType.h"

namespace kernelc::emulator {

double decodeNarrow(NarrowKind kind, const unsigned char *p) {
  static const std::vector<float> halves = [] {
    std::vector<float> t(65536);
    for (unsigned i = 0; i < 65536; i++)
      t[i] = fromF16(uint16_t(i));
    return t;
  }();
  static const std::array<std::array<float, 256>, 2> bytes = [] {
    std::array<std::array<float, 256>, 2> t;
    for (unsigned i = 0; i < 256; i++) {
      t[0][i] = fromF8E4M3(uint8_t(i));
      t[1][i] = fromF8E5M2(uint8_t(i));
    }
    return t;
  }();
  uint16_t half;
  uint32_t word;
  float f;
  switch (kind) {
  case NarrowKind::Bf16: std::memcpy(&half, p, 2); return fromBF16(half);
  case NarrowKind::F16: std::memcpy(&half, p, 2); return halves[half];
  case NarrowKind::Tf32:
    std::memcpy(&word, p, 4);
    word &= ~0x1fffu;
    std::memcpy(&f, &word, 4);
    return f;
  case NarrowKind::S8: return int8_t(*p);
  case NarrowKind::U8: return *p;
  case NarrowKind::E4M3: return bytes[0][*p];
  case NarrowKind::E5M2: return bytes[1][*p];
  }
  return 0;
}

void multiplyAdd(const double *a, const double *b, double *sums, int rows, int columns, int k) {
  for (int r = 0; r < rows; r++)
    for (int kk = 0; kk < k; kk++) {
      double x = a[r * k + kk];
      const double *row = b + kk * columns;
      double *sum = sums + r * columns;
      for (int c = 0; c < columns; c++)
        sum[c] += x * row[c];
    }
}

} // namespace kernelc::emulator

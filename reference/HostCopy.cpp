// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/HostCopy.h"

#include <algorithm>
#include <cstring>

namespace kernelc::reference {
namespace {

bool isNibble(ElementType t) { return elementBits(t) == 4; }

int nibble(const uint8_t *p, int64_t i, bool unpacked) { return unpacked ? p[i] & 15 : (p[i >> 1] >> (i & 1 ? 4 : 0)) & 15; }

void setNibble(uint8_t *p, int64_t i, bool unpacked, int v) {
  if (unpacked)
    p[i] = uint8_t(v);
  else
    p[i >> 1] = uint8_t(i & 1 ? (p[i >> 1] & 0x0f) | v << 4 : (p[i >> 1] & 0xf0) | v);
}

double toF64(const uint8_t *p, int64_t i, ElementType t) {
  switch (t) {
  case ElementType::f32: return reinterpret_cast<const float *>(p)[i];
  case ElementType::f16: return fromF16(reinterpret_cast<const uint16_t *>(p)[i]);
  case ElementType::bf16: return fromBF16(reinterpret_cast<const uint16_t *>(p)[i]);
  case ElementType::f8e4m3: return fromF8E4M3(p[i]);
  case ElementType::f8e5m2: return fromF8E5M2(p[i]);
  default: return reinterpret_cast<const double *>(p)[i];
  }
}

template <typename T> void copyRow(void *d, int64_t db, int64_t ds, const void *s, int64_t sb, int64_t ss, int64_t n) {
  T *to = static_cast<T *>(d) + db;
  const T *from = static_cast<const T *>(s) + sb;
  if (ds == 1 && ss == 1)
    std::memcpy(to, from, size_t(n) * sizeof(T));
  else
    for (int64_t i = 0; i < n; ++i)
      to[i * ds] = from[i * ss];
}

} // namespace

void forRange(ThreadPool *pool, int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn) {
  if (pool)
    return pool->parallelFor(0, n, grain, fn);
  for (int64_t b = 0; b < n; b += grain)
    fn(b, std::min(n, b + grain));
}

HostTensor HostTensor::part(const std::vector<int64_t> &lower, const std::vector<int64_t> &upper) const {
  HostTensor p = *this;
  for (size_t d = 0; d < shape.size(); ++d) {
    p.offset += lower[d] * strides[d];
    p.shape[d] = upper[d] - lower[d];
  }
  return p;
}

void copyTensor(const HostTensor &dst, const HostTensor &src, ThreadPool *pool) {
  int rank = int(dst.shape.size());
  int64_t rows = 1, n = rank ? dst.shape[rank - 1] : 1;
  for (int i = 0; i + 1 < rank; ++i)
    rows *= dst.shape[i];
  if (rows == 0 || n == 0)
    return;
  int64_t ds = rank ? dst.strides[rank - 1] : 1, ss = rank ? src.strides[rank - 1] : 1;
  auto pieces = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t db = dst.offset, sb = src.offset, rest = r;
      for (int i = rank - 2; i >= 0; --i) {
        int64_t at = rest % dst.shape[i];
        rest /= dst.shape[i];
        db += at * dst.strides[i];
        sb += at * src.strides[i];
      }
      if (isNibble(src.type)) {
        auto *d = static_cast<uint8_t *>(dst.data);
        auto *s = static_cast<const uint8_t *>(src.data);
        for (int64_t i = 0; i < n; ++i)
          setNibble(d, db + i * ds, dst.unpacked, nibble(s, sb + i * ss, src.unpacked));
      } else if (dst.type != src.type) {
        for (int64_t i = 0; i < n; ++i)
          static_cast<double *>(dst.data)[db + i * ds] = toF64(static_cast<const uint8_t *>(src.data), sb + i * ss, src.type);
      } else {
        switch (elementBits(src.type)) {
        case 8: copyRow<uint8_t>(dst.data, db, ds, src.data, sb, ss, n); break;
        case 16: copyRow<uint16_t>(dst.data, db, ds, src.data, sb, ss, n); break;
        case 32: copyRow<uint32_t>(dst.data, db, ds, src.data, sb, ss, n); break;
        default: copyRow<uint64_t>(dst.data, db, ds, src.data, sb, ss, n); break;
        }
      }
    }
  };
  // Rows of packed nibbles may share a byte: one thread.
  bool serial = isNibble(dst.type) && !dst.unpacked;
  forRange(serial ? nullptr : pool, rows, std::max<int64_t>(1, 65536 / n), pieces);
}

} // namespace kernelc::reference

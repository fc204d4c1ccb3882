// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/TensorBytes.h"

#include <cstring>
#include <vector>

namespace kernelc {

absl::Status forEachPiece(const TensorView &t, absl::FunctionRef<absl::Status(const void *, size_t)> sink) {
  int64_t n = t.numElements();
  size_t width = size_t(fileElementBytes(t.type));
  auto *base = static_cast<const uint8_t *>(t.data);
  if (elementBits(t.type) != 4 && t.strides == denseStrides(t.shape))
    return n ? sink(base, size_t(n) * width) : absl::OkStatus();
  constexpr size_t kPiece = size_t(1) << 20;
  std::vector<uint8_t> buffer;
  buffer.reserve(kPiece);
  std::vector<int64_t> index(t.shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * t.strides[d];
    if (elementBits(t.type) == 4) {
      uint8_t v = (base[at >> 1] >> (at & 1 ? 4 : 0)) & 15;
      buffer.push_back(t.type == ElementType::i4 && v > 7 ? uint8_t(v | 0xf0) : v);
    } else {
      buffer.resize(buffer.size() + width);
      std::memcpy(buffer.data() + buffer.size() - width, base + at * int64_t(width), width);
    }
    if (buffer.size() + width > kPiece) {
      if (absl::Status s = sink(buffer.data(), buffer.size()); !s.ok())
        return s;
      buffer.clear();
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.shape[d])
        break;
      index[d] = 0;
    }
  }
  return buffer.empty() ? absl::OkStatus() : sink(buffer.data(), buffer.size());
}

} // namespace kernelc

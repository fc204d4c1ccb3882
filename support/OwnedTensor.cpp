// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/OwnedTensor.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace kernelc {

absl::StatusOr<size_t> denseBytes(ElementType type, const std::vector<int64_t> &shape) {
  int64_t n = elementBits(type);
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0)
      return absl::InvalidArgumentError(absl::StrCat("negative dimension ", d));
    empty |= d == 0;
  }
  if (empty)
    return 0;
  for (int64_t d : shape)
    if (__builtin_mul_overflow(n, d, &n) || n > std::numeric_limits<int64_t>::max() / 8)
      return absl::InvalidArgumentError("the shape has too many elements: their bytes do not fit 64 bits");
  return size_t(n + 7) / 8;
}

absl::StatusOr<OwnedTensor> allocateTensor(ElementType type, std::vector<int64_t> shape) {
  auto bytes = denseBytes(type, shape);
  if (!bytes.ok())
    return bytes.status();
  OwnedTensor t;
  t.type = type;
  t.strides = denseStrides(shape);
  t.shape = std::move(shape);
  t.bytes = *bytes;
  t.data.reset(static_cast<uint8_t *>(std::aligned_alloc(64, (*bytes + 127) / 64 * 64)));
  if (!t.data)
    return absl::ResourceExhaustedError(absl::StrCat("no memory for a tensor of ", *bytes, " bytes"));
  return t;
}

namespace {

absl::Status checkBools(const OwnedTensor &t) {
  for (size_t i = 0; i < t.bytes; ++i)
    if (t.data[i] > 1)
      return absl::InvalidArgumentError(absl::StrCat("the byte ", int(t.data[i]), " is no bool, which is 0 or 1"));
  return absl::OkStatus();
}

/// Whether the byte `v` of a tensor of `stored` is one of `to`, i4 or u4.
bool fitsNibble(ElementType stored, ElementType to, uint8_t v) {
  bool negative = v >= 0xf8; // -8 to -1, with the sign above
  if (to == ElementType::u4)
    return v < 16;
  return stored == ElementType::i8 ? v < 8 || negative : v < 16 || negative;
}

} // namespace

absl::StatusOr<OwnedTensor> settleElements(OwnedTensor stored, ElementType type) {
  if (type == ElementType::boolean)
    if (absl::Status s = checkBools(stored); !s.ok())
      return s;
  if (elementBits(type) != 4)
    return stored;
  auto packed = allocateTensor(type, stored.shape);
  if (!packed.ok())
    return packed;
  std::fill(packed->data.get(), packed->data.get() + packed->bytes, uint8_t(0));
  std::vector<int64_t> index(stored.shape.size(), 0);
  int64_t n = packed->bytes ? stored.view().numElements() : 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * stored.strides[d];
    uint8_t v = stored.data[at];
    if (!fitsNibble(stored.type, type, v))
      return absl::InvalidArgumentError(
          absl::StrCat("the value ", stored.type == ElementType::i8 ? int(int8_t(v)) : int(v), " does not fit in ", elementTypeName(type)));
    packed->data[i >> 1] |= uint8_t((v & 15) << (i & 1 ? 4 : 0));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < stored.shape[d])
        break;
      index[d] = 0;
    }
  }
  return packed;
}

} // namespace kernelc

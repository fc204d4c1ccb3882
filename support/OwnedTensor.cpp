#include "support/OwnedTensor.h"

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
      return absl::InvalidArgumentError("the shape is larger than memory can be");
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

absl::StatusOr<OwnedTensor> reinterpretTensor(OwnedTensor t, ElementType to) {
  if (t.type == to)
    return t;
  auto refuse = [&](absl::string_view why = "") {
    return absl::InvalidArgumentError(absl::StrCat("expected ", elementTypeName(to), ", got ", elementTypeName(t.type), why));
  };
  bool fromBits = !isFloat(t.type) || t.type == ElementType::bf16;
  if (elementBits(to) == elementBits(t.type) && elementBits(to) != 4 && fromBits) {
    // A sign that differs, or a float's bits.
    t.type = to;
    return t;
  }
  if (elementBits(to) != 4 || elementBits(t.type) != 8 || isFloat(t.type))
    return refuse();
  auto packed = allocateTensor(to, t.shape);
  if (!packed.ok())
    return packed;
  std::fill(packed->data.get(), packed->data.get() + packed->bytes, uint8_t(0));
  std::vector<int64_t> index(t.shape.size(), 0);
  int64_t n = packed->bytes ? t.view().numElements() : 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * t.strides[d];
    uint8_t v = t.data[at];
    bool fits = to == ElementType::u4 ? v < 16 : v < 8 || v >= 0xf8;
    if (!fits)
      return refuse(absl::StrCat(" and the value ", int(int8_t(v)), " does not fit"));
    packed->data[i >> 1] |= uint8_t((v & 15) << (i & 1 ? 4 : 0));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.shape[d])
        break;
      index[d] = 0;
    }
  }
  return packed;
}

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/tile/TileMemory.h"

#include <cstring>

#include "ir/tile/Tile.h"

namespace kernelc::reference {

const TensorView &TileMemory::tensor(int64_t source, ElementType type, const std::vector<int64_t> &shape) {
  if (source >= 0) {
    TensorView &t = params_[size_t(source)];
    bool isPacked = elementBits(t.type) < 8; // functions know its bytes, or one dim for several of dense ones
    if (isPacked || t.shape.size() != shape.size())
      t = {t.data, isPacked ? type : t.type, shape, denseStrides(shape)};
    return t;
  }
  auto [it, isNew] = workspaces_.try_emplace(source);
  if (isNew) {
    TensorView &t = it->second;
    t = {nullptr, type, shape, denseStrides(shape)};
    size_t words = size_t(t.numElements() * elementBits(type) + 63) / 64 + 1;
    storage_.push_back(std::make_unique<uint64_t[]>(words));
    std::memset(storage_.back().get(), 0xff, words * 8); // NaN, or -1
    t.data = storage_.back().get();
  }
  return it->second;
}

void TileMemory::forgetOwn() {
  for (auto &[source, t] : workspaces_)
    if (tile::isOwnMemory(source))
      std::memset(t.data, 0xff, size_t(t.numElements() * elementBits(t.type)) / 8);
}

bool isInside(const TensorView &t, llvm::ArrayRef<int64_t> at) {
  for (size_t d = 0; d < t.shape.size(); ++d)
    if (at[d] < 0 || at[d] >= t.shape[d])
      return false;
  return true;
}

namespace {

unsigned char *addressOf(const TensorView &t, llvm::ArrayRef<int64_t> at) {
  int64_t offset = 0;
  for (size_t d = 0; d < t.shape.size(); ++d)
    offset += at[d] * t.strides[d];
  return static_cast<unsigned char *>(t.data) + offset * (elementBits(t.type) / 8);
}

} // namespace

TileElement readElement(const TensorView &t, llvm::ArrayRef<int64_t> at) {
  int64_t bits = 0;
  unsigned width = unsigned(elementBits(t.type));
  std::memcpy(&bits, addressOf(t, at), width / 8);
  float f;
  double d;
  switch (t.type) {
  case ElementType::f64: std::memcpy(&d, &bits, 8); return {.f = d};
  case ElementType::f32: std::memcpy(&f, &bits, 4); return {.f = f};
  case ElementType::f16: return {.f = fromF16(uint16_t(bits))};
  case ElementType::bf16: return {.f = fromBF16(uint16_t(bits))};
  case ElementType::f8e4m3: return {.f = fromF8E4M3(uint8_t(bits))};
  case ElementType::f8e5m2: return {.f = fromF8E5M2(uint8_t(bits))};
  case ElementType::boolean: return {.i = bits != 0};
  default: return {.i = wrapped(bits, width)};
  }
}

void writeElement(const TensorView &t, llvm::ArrayRef<int64_t> at, TileElement v) {
  int64_t bits = v.i;
  float f = float(v.f);
  switch (t.type) {
  case ElementType::f64: break;
  case ElementType::f32: std::memcpy(&bits, &f, 4); break;
  case ElementType::f16: bits = toF16(v.f); break;
  case ElementType::bf16: bits = toBF16(v.f); break;
  case ElementType::f8e4m3: bits = toF8E4M3(v.f); break;
  case ElementType::f8e5m2: bits = toF8E5M2(v.f); break;
  default: break;
  }
  std::memcpy(addressOf(t, at), &bits, size_t(elementBits(t.type)) / 8);
}

} // namespace kernelc::reference

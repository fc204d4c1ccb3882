// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/HostValues.h"

namespace kernelc {

uint64_t mixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

namespace {

template <typename T> void storeAs(void *data, int64_t i, double v) { static_cast<T *>(data)[i] = T(v); }
template <typename T> double loadAs(const void *data, int64_t i) { return double(static_cast<const T *>(data)[i]); }

} // namespace

double loadElement(ElementType type, const void *d, int64_t i) {
  auto halves = static_cast<const uint16_t *>(d);
  auto bytes = static_cast<const uint8_t *>(d);
  switch (type) {
  case ElementType::f64: return loadAs<double>(d, i);
  case ElementType::f32: return loadAs<float>(d, i);
  case ElementType::f16: return fromF16(halves[i]);
  case ElementType::bf16: return fromBF16(halves[i]);
  case ElementType::f8e4m3: return fromF8E4M3(bytes[i]);
  case ElementType::f8e5m2: return fromF8E5M2(bytes[i]);
  case ElementType::i64: return loadAs<int64_t>(d, i);
  case ElementType::i32: return loadAs<int32_t>(d, i);
  case ElementType::i16: return loadAs<int16_t>(d, i);
  case ElementType::i8: return loadAs<int8_t>(d, i);
  case ElementType::u64: return loadAs<uint64_t>(d, i);
  case ElementType::u32: return loadAs<uint32_t>(d, i);
  case ElementType::u16: return loadAs<uint16_t>(d, i);
  case ElementType::u8: return loadAs<uint8_t>(d, i);
  case ElementType::boolean: return bytes[i] ? 1 : 0;
  case ElementType::u4:
  case ElementType::i4: {
    int nibble = bytes[i / 2] >> (i % 2 * 4) & 15;
    return type == ElementType::i4 && nibble > 7 ? nibble - 16 : nibble;
  }
  }
  return 0;
}

void storeElement(ElementType type, void *d, int64_t i, double v) {
  auto halves = static_cast<uint16_t *>(d);
  auto bytes = static_cast<uint8_t *>(d);
  switch (type) {
  case ElementType::f64: return storeAs<double>(d, i, v);
  case ElementType::f32: return storeAs<float>(d, i, v);
  case ElementType::f16: halves[i] = toF16(v); return;
  case ElementType::bf16: halves[i] = toBF16(v); return;
  case ElementType::f8e4m3: bytes[i] = toF8E4M3(v); return;
  case ElementType::f8e5m2: bytes[i] = toF8E5M2(v); return;
  case ElementType::boolean: bytes[i] = v != 0; return;
  case ElementType::u4:
  case ElementType::i4: {
    uint8_t &byte = bytes[i / 2];
    int shift = i % 2 * 4;
    byte = uint8_t((byte & ~(15 << shift)) | ((int64_t(v) & 15) << shift));
    return;
  }
  // Integers wrap: iota may count beyond a narrow type.
  case ElementType::i64:
  case ElementType::u64: static_cast<int64_t *>(d)[i] = int64_t(v); return;
  case ElementType::i32:
  case ElementType::u32: static_cast<uint32_t *>(d)[i] = uint32_t(int64_t(v)); return;
  case ElementType::i16:
  case ElementType::u16: halves[i] = uint16_t(int64_t(v)); return;
  case ElementType::i8:
  case ElementType::u8: bytes[i] = uint8_t(int64_t(v)); return;
  }
}

void fillRandom(ElementType type, void *data, int64_t elements, uint64_t seed) {
  uint64_t key = mixBits(seed);
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t bits = mixBits(key + uint64_t(i));
    double v = 0;
    if (isFloat(type))
      v = double(bits >> 40) / double(1 << 23) - 1; // 24 bits: exact in f32
    else if (type == ElementType::boolean)
      v = double(bits & 1);
    else
      v = double(bits & 7) - (isSignedInteger(type) ? 4 : 0);
    storeElement(type, data, i, v);
  }
}

} // namespace kernelc

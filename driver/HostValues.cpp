#include "driver/HostValues.h"

namespace kernelc {
namespace {

/// splitmix64: a counter-based generator, so that element i depends on (seed, i) only.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <typename T> void storeAs(void *data, int64_t i, double v) { static_cast<T *>(data)[i] = T(v); }
template <typename T> double loadAs(const void *data, int64_t i) { return double(static_cast<const T *>(data)[i]); }

} // namespace

double loadElement(const HostTensor &t, int64_t i) {
  const void *d = t.data();
  switch (t.type()) {
  case ElementType::f64: return loadAs<double>(d, i);
  case ElementType::f32: return loadAs<float>(d, i);
  case ElementType::f16: return fromF16(t.as<uint16_t>()[i]);
  case ElementType::bf16: return fromBF16(t.as<uint16_t>()[i]);
  case ElementType::f8e4m3: return fromF8E4M3(t.as<uint8_t>()[i]);
  case ElementType::f8e5m2: return fromF8E5M2(t.as<uint8_t>()[i]);
  case ElementType::i64: return loadAs<int64_t>(d, i);
  case ElementType::i32: return loadAs<int32_t>(d, i);
  case ElementType::i16: return loadAs<int16_t>(d, i);
  case ElementType::i8: return loadAs<int8_t>(d, i);
  case ElementType::u64: return loadAs<uint64_t>(d, i);
  case ElementType::u32: return loadAs<uint32_t>(d, i);
  case ElementType::u16: return loadAs<uint16_t>(d, i);
  case ElementType::u8: return loadAs<uint8_t>(d, i);
  case ElementType::boolean: return t.as<uint8_t>()[i] ? 1 : 0;
  case ElementType::u4:
  case ElementType::i4: {
    int nibble = t.as<uint8_t>()[i / 2] >> (i % 2 * 4) & 15;
    return t.type() == ElementType::i4 && nibble > 7 ? nibble - 16 : nibble;
  }
  }
  return 0;
}

void storeElement(const HostTensor &t, int64_t i, double v) {
  void *d = t.data();
  switch (t.type()) {
  case ElementType::f64: return storeAs<double>(d, i, v);
  case ElementType::f32: return storeAs<float>(d, i, v);
  case ElementType::f16: t.as<uint16_t>()[i] = toF16(v); return;
  case ElementType::bf16: t.as<uint16_t>()[i] = toBF16(v); return;
  case ElementType::f8e4m3: t.as<uint8_t>()[i] = toF8E4M3(v); return;
  case ElementType::f8e5m2: t.as<uint8_t>()[i] = toF8E5M2(v); return;
  case ElementType::boolean: t.as<uint8_t>()[i] = v != 0; return;
  case ElementType::u4:
  case ElementType::i4: {
    uint8_t &byte = t.as<uint8_t>()[i / 2];
    int shift = i % 2 * 4;
    byte = uint8_t((byte & ~(15 << shift)) | ((int64_t(v) & 15) << shift));
    return;
  }
  // Integers wrap: iota may count beyond a narrow type.
  case ElementType::i64: case ElementType::u64: t.as<int64_t>()[i] = int64_t(v); return;
  case ElementType::i32: case ElementType::u32: t.as<uint32_t>()[i] = uint32_t(int64_t(v)); return;
  case ElementType::i16: case ElementType::u16: t.as<uint16_t>()[i] = uint16_t(int64_t(v)); return;
  case ElementType::i8: case ElementType::u8: t.as<uint8_t>()[i] = uint8_t(int64_t(v)); return;
  }
}

void fillRandom(const HostTensor &t, uint64_t seed) {
  uint64_t key = mix(seed);
  for (int64_t i = 0; i < t.numElements(); ++i) {
    uint64_t bits = mix(key + uint64_t(i));
    double v = 0;
    if (isFloat(t.type()))
      v = double(bits >> 40) / double(1 << 23) - 1; // 24 bits: exact in f32
    else if (t.type() == ElementType::boolean)
      v = double(bits & 1);
    else
      v = double(bits & 7) - (isSignedInteger(t.type()) ? 4 : 0);
    storeElement(t, i, v);
  }
}

} // namespace kernelc

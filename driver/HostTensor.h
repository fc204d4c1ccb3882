// A dense tensor (or scalar) that owns host memory: what tools and tests feed to
// kernels and get back.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/DeviceTensor.h"
#include "support/TensorView.h"

namespace kernelc {

/// Bytes of `elements` elements of `type`, dense.
inline size_t storageBytes(ElementType type, int64_t elements) { return size_t((elements * elementBits(type) + 7) / 8); }

class HostTensor {
public:
  HostTensor() = default;
  /// Zeros; 64-byte aligned. Throws nothing: memory() is null when there is none.
  HostTensor(ElementType type, std::vector<int64_t> shape) : type_(type), shape_(std::move(shape)) {
    bytes_ = storageBytes(type_, numElements());
    size_t rounded = (bytes_ + 63) / 64 * 64 + 64;
    data_.reset(std::aligned_alloc(64, rounded));
    if (data_)
      __builtin_memset(data_.get(), 0, rounded);
  }

  ElementType type() const { return type_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  int64_t numElements() const {
    int64_t n = 1;
    for (int64_t d : shape_)
      n *= d;
    return n;
  }
  size_t bytes() const { return bytes_; }
  void *data() const { return data_.get(); }
  template <typename T> T *as() const { return static_cast<T *>(data_.get()); }

  TensorView view() const { return {data_.get(), type_, shape_, denseStrides(shape_)}; }
  DeviceTensor deviceTensor() const { return {data_.get(), type_, shape_, denseStrides(shape_), 0}; }
  /// A rank-0 tensor as a scalar argument.
  ScalarValue scalar() const {
    ScalarValue s{type_, 0};
    __builtin_memcpy(&s.bits, data_.get(), bytes_ < 8 ? bytes_ : 8);
    return s;
  }

private:
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  ElementType type_ = ElementType::f32;
  std::vector<int64_t> shape_;
  size_t bytes_ = 0;
  std::unique_ptr<void, Free> data_;
};

} // namespace kernelc

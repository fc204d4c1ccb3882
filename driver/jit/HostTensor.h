// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  /// Zeros; 64-byte aligned. Throws nothing: data() is null when there is none.
  HostTensor(ElementType type, std::vector<int64_t> shape) : type_(type), shape_(std::move(shape)) {
    bytes_ = storageBytes(type_, numElements());
    // The system's zeros: pages that nobody touches cost nothing.
    block_.reset(std::calloc(bytes_ + 2 * kAlignment, 1));
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
  void *data() const {
    return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(block_.get()) + kAlignment - 1) / kAlignment * kAlignment);
  }
  template <typename T> T *as() const { return static_cast<T *>(data()); }

  /// The same elements in memory of its own; data() is null where there is none.
  HostTensor copy() const {
    HostTensor t(type_, shape_);
    if (t.data())
      __builtin_memcpy(t.data(), data(), bytes_);
    return t;
  }

  TensorView view() const { return {data(), type_, shape_, denseStrides(shape_)}; }
  DeviceTensor deviceTensor() const { return {data(), type_, shape_, denseStrides(shape_), 0}; }
  /// A rank-0 tensor as a scalar argument.
  ScalarValue scalar() const {
    ScalarValue s{type_, 0};
    __builtin_memcpy(&s.bits, data(), bytes_ < 8 ? bytes_ : 8);
    return s;
  }

private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  ElementType type_ = ElementType::f32;
  std::vector<int64_t> shape_;
  size_t bytes_ = 0;
  std::unique_ptr<void, Free> block_; ///< the data stand at its first multiple of kAlignment
};

} // namespace kernelc

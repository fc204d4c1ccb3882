// A tensor in host memory that owns it: what files are read into.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "support/TensorView.h"

namespace kernelc {

struct OwnedTensor {
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape, strides; ///< strides in elements
  std::unique_ptr<uint8_t[], Free> data;
  size_t bytes = 0;

  TensorView view() const { return {data.get(), type, shape, strides}; }
};

/// Bytes that a dense tensor takes (i4/u4: two to a byte), or an error when the
/// shape is negative or does not fit.
absl::StatusOr<size_t> denseBytes(ElementType type, const std::vector<int64_t> &shape);

/// A dense tensor with uninitialised memory (64-byte aligned). ResourceExhausted
/// when there is none.
absl::StatusOr<OwnedTensor> allocateTensor(ElementType type, std::vector<int64_t> shape);

/// The same values in type `to`, dense. Types of equal width are reinterpreted
/// (u16 as bf16, u8 as an f8), bytes become nibbles when the values fit, and i8/u8
/// bool; other pairs are an error.
absl::StatusOr<OwnedTensor> reinterpretTensor(OwnedTensor tensor, ElementType to);

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// What a file stored, as elements of `type`. A byte each of i4 and u4 becomes a nibble: bytes of i8
/// hold the value, those of u8 the nibble's bits, with or without the sign above (ml_dtypes' int4).
/// Bytes of bool are 0 or 1. Any other `type` is `stored`'s own. InvalidArgument names the first
/// value that does not fit.
absl::StatusOr<OwnedTensor> settleElements(OwnedTensor stored, ElementType type);

} // namespace kernelc

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A strided tensor in host memory, not owned: how inputs and outputs reach the
// reference, the emulator and the tools.
#pragma once

#include <cstdint>
#include <vector>

#include "support/ElementType.h"

namespace kernelc {

struct TensorView {
  void *data = nullptr;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< in elements; may be 0 or negative on inputs

  int64_t numElements() const {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
};

/// Row-major strides of `shape`, in elements.
inline std::vector<int64_t> denseStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * (shape[i] > 0 ? shape[i] : 1);
  return strides;
}

} // namespace kernelc

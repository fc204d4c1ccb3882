// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strided copies between tensors in host memory, with the few conversions that the
// runner needs. Everything else about element types is in the generated code.
#pragma once

#include <cstdint>
#include <vector>

#include "support/ElementType.h"
#include "support/ThreadPool.h"

namespace kernelc::reference {

struct HostTensor {
  void *data = nullptr;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape, strides; ///< strides in elements
  bool unpacked = false;               ///< i4/u4: one element a byte instead of two
  int64_t offset = 0;                  ///< element [0, ..] stands so many elements after `data`

  /// A view of the elements from `lower` up to, and without, `upper`.
  HostTensor part(const std::vector<int64_t> &lower, const std::vector<int64_t> &upper) const;
};

/// dst = src, element by element. Types agree, or dst is f64 and src a float. The
/// shapes agree; dst's elements are distinct.
void copyTensor(const HostTensor &dst, const HostTensor &src, ThreadPool *pool);

/// Calls `fn` over pieces of [0, n), on the pool when there is one.
void forRange(ThreadPool *pool, int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn);

} // namespace kernelc::reference

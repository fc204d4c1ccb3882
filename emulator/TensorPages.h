// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of a strided tensor are, page by page. What lies between rows that are
// far apart belongs to somebody else, or to nobody: it is neither read nor copied.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "support/TensorView.h"

namespace kernelc::emulator {

/// Bytes relative to a tensor's data pointer: [low, high).
struct ByteRange {
  int64_t low = 0, high = 0;
  int64_t size() const { return high - low; }
};

/// From the first byte of an element to the last one of all.
ByteRange spanOf(const TensorView &v);

/// The part of spanOf that shares pages of memory with elements, as ranges in order, apart from each other. ResourceExhausted
/// where they are too many to list.
absl::StatusOr<std::vector<ByteRange>> pagesOf(const TensorView &v);

} // namespace kernelc::emulator

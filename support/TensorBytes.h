// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tensor's elements in row-major order as files store them: dense, little endian,
// i4/u4 a byte each. Shared by the file formats.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "support/TensorView.h"

namespace kernelc {

/// Bytes of one element in a file.
inline int fileElementBytes(ElementType t) { return elementBits(t) == 4 ? 1 : elementBits(t) / 8; }

/// Calls `sink` with consecutive pieces of the elements.
absl::Status forEachPiece(const TensorView &tensor, absl::FunctionRef<absl::Status(const void *, size_t)> sink);

} // namespace kernelc

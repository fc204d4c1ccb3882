// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computing a part of the outputs: which part of every tensor, and which range of
// every statement's parallel dims, a box of each output needs. Interval arithmetic
// on subscripts, backwards through the program; always safe, whole tensors where
// subscripts depend on data or may leave them.
#pragma once

#include <vector>

#include "reference/Program.h"
#include "reference/Reference.h"

namespace kernelc::reference {

struct Windows {
  std::vector<Box> slots; ///< per slot; shared by slots that share memory
  std::vector<Box> steps; ///< per step, over its parallel dims
  /// Scalar operations, roughly.
  double work = 0;
};

/// `outputs`: one box per output, or none at all for everything. An empty shape in
/// `slots` (lower == upper) means not needed.
Windows planWindows(const Program &program, absl::Span<const int64_t> sizes, absl::Span<const Box> outputs);

} // namespace kernelc::reference

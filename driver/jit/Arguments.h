// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From what a caller passes to a kernel's sizes and output shapes, before anything
// is allocated. Pure functions over the signature.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

/// A parameter's shape, where one is known.
using MaybeShape = std::optional<std::vector<int64_t>>;

/// Every size, from the shapes known and the sizes given by name. `shapes` is
/// parallel to Kernel::params (scalars: nothing). With `partial`, sizes that nothing
/// determines are -1 instead of an error that names them.
absl::StatusOr<std::vector<int64_t>> solveSizes(const Kernel &kernel, absl::Span<const MaybeShape> shapes,
                                                absl::Span<const NamedSize> named, bool partial = false);

/// The shape of a parameter for these sizes; an error when it needs a size that is
/// -1 or comes out negative.
absl::StatusOr<std::vector<int64_t>> shapeOf(const Kernel &kernel, int param, absl::Span<const int64_t> sizes);

} // namespace kernelc

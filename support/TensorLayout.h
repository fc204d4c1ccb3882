// What class of layout a strided tensor belongs to, as launches and variants see it.
// Pure functions of extents and strides; they touch no memory.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "support/Artifact.h"

namespace kernelc {

/// The narrowest class of a tensor. Extents of 1 may have any stride; tensors without
/// elements are dense.
LayoutClass classifyLayout(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

/// The strides a kernel sees. Where an extent is at most 1 the caller's stride means
/// nothing and may be odd; it becomes the next one that a tensor map accepts.
std::vector<int64_t> visibleStrides(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

/// How many elements apart the first and the last in memory are, plus one.
int64_t elementSpan(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

} // namespace kernelc

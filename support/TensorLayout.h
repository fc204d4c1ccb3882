// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What class of layout a strided tensor belongs to, as launches and variants see it.
// Pure functions of extents and strides; they touch no memory.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "support/Artifact.h"

namespace kernelc {

/// The narrowest class of a tensor whose dims are taken in `order`, slowest first (empty: as written). Extents of 1
/// may have any stride; tensors without elements are dense.
LayoutClass classifyLayout(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                           absl::Span<const int> order = {});

/// Whether an index runs towards lower addresses. Variants do not read elements of less than a byte so.
bool readsBackwards(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

/// Whether a tensor's layout is as `guard` says; its address is not looked at.
bool hasLayout(const ParamGuard &guard, ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

/// The narrowest guard that a tensor passes, as an argument of `kind` whose address is a multiple of `alignment`. The dims
/// of an input are taken in another order where they are those of a tensor with unit stride innermost that way
/// (x.T: 1, 0). Extents of 1 rule that out: their strides say nothing.
ParamGuard narrowestGuard(ParamKind kind, ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                          uint32_t alignment);

/// The strides a kernel sees. Where an extent is at most 1 the caller's stride means
/// nothing and may be odd; it becomes the next one that every guard accepts.
std::vector<int64_t> visibleStrides(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

/// How many elements apart the first and the last in memory are, plus one.
int64_t elementSpan(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

} // namespace kernelc

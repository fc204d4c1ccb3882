// Which entry of the disk cache a call would ask for first: what `kernelc cache why`
// explains. Compiles nothing, and asks no cache.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/Session.h"
#include "runtime/CacheEntry.h"

namespace kernelc {

/// The request key of the variant that `values` get for `target`, or of the general
/// one: the key VariantSet asks with, but for tensors whose workspace turns out to need
/// 64-bit offsets.
absl::StatusOr<CacheKey> variantKey(const JitKernel &kernel, const std::string &target, bool generalOnly,
                                    absl::Span<const LaunchValue> values);

} // namespace kernelc

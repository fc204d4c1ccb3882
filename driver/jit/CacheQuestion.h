// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which entry of the disk cache a call would ask for first: what `kernelc cache why`
// explains; and schedules that are put there by hand. Shows no MLIR.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/Session.h"
#include "runtime/CacheEntry.h"
#include "runtime/DiskCache.h"

namespace kernelc {

/// The request key of the variant that `values` get for `target`, or of the general
/// one: the key VariantSet asks with, but for tensors whose workspace turns out to need
/// 64-bit offsets. A tuned schedule that `cache` holds is part of it.
absl::StatusOr<CacheKey> variantKey(const JitKernel &kernel, const std::string &target, bool generalOnly,
                                    absl::Span<const LaunchValue> values, DiskCache &cache);

/// Keeps `schedule`, found at `origin`, as `kernelc tune` would for the variant that `values` get for `target`. The schedule
/// must hold there: InvalidArgument with what is wrong.
absl::Status keepSchedule(JitKernel &kernel, const std::string &target, absl::Span<const LaunchValue> values, const std::string &schedule,
                          const std::string &origin, DiskCache &cache);

} // namespace kernelc

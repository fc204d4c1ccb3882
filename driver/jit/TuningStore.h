// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules that `kernelc tune` has found, kept in the disk cache and taken by calls that name
// none. A record belongs to what a kernel computes (KernelIdentity.h), a target, what a variant
// assumes of sizes and tensors (so to all calls that get the same code), and the version of
// kernelc. It is never needed: what is stale or does not hold is said and passed over.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "driver/compile/Compiler.h"
#include "driver/compile/Program.h"
#include "runtime/DiskCache.h"

namespace kernelc {

/// What a search has found.
struct TuningRecord {
  std::string schedule;                     ///< a schedule file's text
  std::string origin;                       ///< the device it was measured on, or where it came from
  std::string sizes;                        ///< "M = 4096, N = 64", of the call it was found for
  double seconds = 0, costModelSeconds = 0; ///< medians of it and of the cost model's; 0: not measured
};

/// A record for one variant of a kernel, in the names of that kernel.
struct TunedSchedule {
  std::string schedule;
  std::string remark; ///< that it is used, and where it comes from
};

using Remark = std::function<void(const std::string &)>;

/// The record for a variant of `signature`, or nothing: there is none, it is of another version of kernelc (`remark`
/// hears so), sizes are open, the program was given a schedule, or $KERNELC_UNTUNED is set.
std::optional<TunedSchedule> findTuned(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options,
                                       const Remark &remark);
/// Keeps what a record's schedule says of the kernel, for a variant, in place of what there was. FailedPrecondition where the cache
/// is off, or the variant leaves sizes open: it is not one that calls are specialised on.
absl::Status keepTuned(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options,
                       const TuningRecord &record);
/// Forgets the record for a variant, if there is one.
void dropTuned(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options);

/// "M = 4096, N = 64": the sizes of a call, those that the program fixes first.
std::string describeSizesOf(const Program &program, const Kernel &signature, absl::Span<const int64_t> sizes);

/// What is said of a record that the compiler refuses.
std::string noLongerHolds(const Kernel &signature, const std::string &target, const absl::Status &why);

} // namespace kernelc

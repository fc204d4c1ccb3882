// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/CacheQuestion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/CacheKeys.h"
#include "driver/jit/VariantSet.h"

namespace kernelc {

absl::StatusOr<CacheKey> variantKey(const JitKernel &kernel, const std::string &target, bool generalOnly,
                                    absl::Span<const LaunchValue> values, DiskCache &cache) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<CheckedArgs> args = checkArguments(signature, values, {}, 0, 1);
  if (!args.ok())
    return args.status();
  VariantOptions options = optionsFor(signature, target, *args, generalOnly);
  std::optional<TunedSchedule> tuned = findTuned(cache, kernel.program(), signature, options, {});
  return variantKey(kernel.program(), signature, options, tuned ? tuned->schedule : "");
}

absl::Status keepSchedule(JitKernel &kernel, const std::string &target, absl::Span<const LaunchValue> values, const std::string &schedule,
                          const std::string &origin, DiskCache &cache) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<CheckedArgs> args = checkArguments(signature, values, {}, 0, 1);
  if (!args.ok())
    return args.status();
  if (absl::StatusOr<Kernel> holds = kernel.variantFor(target, values); !holds.ok())
    return holds.status();
  TuningRecord record{schedule, origin, describeSizesOf(kernel.program(), signature, args->sizes)};
  return keepTuned(cache, kernel.program(), signature, optionsFor(signature, target, *args, false), record);
}

} // namespace kernelc

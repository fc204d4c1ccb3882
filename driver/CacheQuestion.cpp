#include "driver/CacheQuestion.h"

#include "driver/VariantSet.h"

namespace kernelc {

absl::StatusOr<CacheKey> variantKey(const JitKernel &kernel, const std::string &target, bool generalOnly,
                                    absl::Span<const LaunchValue> values) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<CheckedArgs> args = checkArguments(signature, values, {}, 0, 1);
  if (!args.ok())
    return args.status();
  return variantKey(kernel.program(), signature, optionsFor(signature, target, *args, generalOnly));
}

} // namespace kernelc

#include "driver/CacheQuestion.h"

#include "absl/strings/str_cat.h"
#include "driver/VariantSet.h"

namespace kernelc {

absl::StatusOr<CacheKey> variantKey(const JitKernel &kernel, const std::string &target, bool generalOnly,
                                    absl::Span<const LaunchValue> values) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<CheckedArgs> args = checkArguments(signature, values, {}, 0, 1);
  if (!args.ok())
    return args.status();
  VariantOptions options;
  options.target = target;
  for (size_t i = 0; i < args->values.size(); ++i)
    if (const DeviceTensor *t = args->tensor(int(i))) {
      int64_t elements = 1;
      for (int64_t d : t->shape)
        elements *= d;
      options.index32 &= elements < int64_t(1) << 30;
    }
  if (generalOnly)
    options.params = generalParams(signature);
  else
    options.facts = factsFor(signature, args->sizes);
  CacheKey key = requestKey(kernel.program(), absl::StrCat("variant of ", signature.name, ": ", describeOptions(options)), target);
  key.note("program", signature.name);
  return key;
}

} // namespace kernelc
